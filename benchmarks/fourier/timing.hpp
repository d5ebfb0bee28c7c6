#pragma once
// The time of a transform, for the programs that fourier.py runs in turns.

#include <chrono>
#include <iostream>

/// Prints the microseconds of run() in a line: 15 rounds of as many calls as take two milliseconds.
void print_times(const auto& run) {
  using Clock = std::chrono::steady_clock;
  const auto seconds_of = [&](int times) {
    const auto begin = Clock::now();
    for (int i = 0; i < times; ++i) run();
    return std::chrono::duration<double>(Clock::now() - begin).count();
  };
  run();
  int times = 1;
  while (seconds_of(times) < 2e-3) times *= 2;
  for (int i = 0; i < 15; ++i) std::cout << 1e6 * seconds_of(times) / times << (i < 14 ? ' ' : '\n');
  std::cout.flush();
}
