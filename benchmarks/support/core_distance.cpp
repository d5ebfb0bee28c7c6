// Prints the nanoseconds that a cache line takes from one core to another: a number goes to and fro 20 times 20,000
// times, and the median counts.

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <thread>

namespace {
using Clock = std::chrono::steady_clock;
constexpr int times = 20, rounds = 20'000;
alignas(64) std::atomic<int> number{0};

void await(int expected) {
  for (int spins = 0; number.load(std::memory_order_acquire) != expected; ++spins)
    if (spins > 100'000) std::this_thread::yield();  // there may be no other core
}
}  // namespace

int main() {
  std::thread other([] {
    for (int i = 0; i < times * rounds; ++i) {
      await(2 * i + 1);
      number.store(2 * i + 2, std::memory_order_release);
    }
  });
  std::array<double, times> nanoseconds{};
  for (int time = 0; time < times; ++time) {
    const auto began = Clock::now();
    for (int i = time * rounds; i < (time + 1) * rounds; ++i) {
      number.store(2 * i + 1, std::memory_order_release);
      await(2 * i + 2);
    }
    const std::chrono::duration<double, std::nano> taken = Clock::now() - began;
    nanoseconds[static_cast<std::size_t>(time)] = taken.count() / (2 * rounds);
  }
  other.join();
  std::sort(nanoseconds.begin(), nanoseconds.end());
  std::printf("%.0f\n", nanoseconds[times / 2]);
}
