// Prints the latency of a cache line between two cores in nanoseconds: the fastest of 20 samples of 20,000 round trips
// between the first two cores that the program may use. Fails if there is only one.

#include <pthread.h>
#include <sched.h>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <thread>

namespace {
using Clock = std::chrono::steady_clock;
constexpr int times = 20, rounds = 20'000;
alignas(64) std::atomic<int> number{0};

void await(int expected) {
  for (int spins = 0; number.load(std::memory_order_acquire) != expected; ++spins)
    if (spins > 1000) std::this_thread::yield();  // lets another program on this core run
}

/// Pins this thread to the core number `index` of the cores that the program may use; false if there are fewer.
bool stay_on(int index) {
  cpu_set_t allowed, one;
  if (sched_getaffinity(0, sizeof allowed, &allowed) != 0) return false;
  for (int core = 0; core < CPU_SETSIZE; ++core) {
    if (!CPU_ISSET(core, &allowed) || index-- > 0) continue;
    CPU_ZERO(&one);
    CPU_SET(core, &one);
    return pthread_setaffinity_np(pthread_self(), sizeof one, &one) == 0;
  }
  return false;
}
}  // namespace

int main() {
  std::atomic<bool> answers{false}, fails{false};
  std::thread other([&] {
    if (!stay_on(1)) {
      fails = true;
      return;
    }
    answers = true;
    for (int i = 0; i < times * rounds; ++i) {
      await(2 * i + 1);
      number.store(2 * i + 2, std::memory_order_release);
    }
  });
  while (!answers && !fails) std::this_thread::yield();
  if (fails || !stay_on(0)) {
    std::fprintf(stderr, "core_distance: there are no two cores to measure\n");
    std::_Exit(1);
  }
  double fastest = 1e9;
  for (int time = 0; time < times; ++time) {
    const auto began = Clock::now();
    for (int i = time * rounds; i < (time + 1) * rounds; ++i) {
      number.store(2 * i + 1, std::memory_order_release);
      await(2 * i + 2);
    }
    const std::chrono::duration<double, std::nano> taken = Clock::now() - began;
    if (taken.count() / (2 * rounds) < fastest) fastest = taken.count() / (2 * rounds);
  }
  other.join();
  std::printf("%.0f\n", fastest);
}
