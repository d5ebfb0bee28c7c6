#pragma once
// Clocks, and the fastest of some runs, for the programs that run in turns with PyTorch and answer line by line.
// peers/torch_lines.py is the counterpart for PyTorch.

#include <string>

#include <time.h>

namespace bench {

/// "processor": CPU time of all threads of this program; any other name: wall time.
[[nodiscard]] inline clockid_t clock_called(const std::string& name) {
  return name == "processor" ? CLOCK_PROCESS_CPUTIME_ID : CLOCK_MONOTONIC;
}
[[nodiscard]] inline double seconds(clockid_t clock) {
  timespec now{};
  clock_gettime(clock, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

/// Milliseconds of the fastest of 3 to 20 runs: as many as start within `budget` seconds.
template <class F>
[[nodiscard]] double fastest(clockid_t clock, double budget, const F& run) {
  double best = 1e9, total = 0;
  for (int i = 0; i < 20 && (i < 3 || total < budget); ++i) {
    const double begin = seconds(clock);
    run();
    const double taken = seconds(clock) - begin;
    best = taken < best ? taken : best;
    total += taken;
  }
  return 1e3 * best;
}

}  // namespace bench
