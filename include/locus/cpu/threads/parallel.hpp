#pragma once
// Loops over the processor's cores, in programs compiled with -fopenmp or -pthread; serial in others.

#include <locus/core/atomic.hpp>
#include <locus/cpu/threads/thread_team.hpp>

#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <exception>
#include <initializer_list>

namespace locus::inline LOCUS_ABI {
namespace cpu {

namespace detail {
[[nodiscard]] inline int within_limits(long threads) {
  if (!LOCUS_THREADS || threads < 1) return 1;
  return threads < ThreadTeam::most_threads ? static_cast<int>(threads) : ThreadTeam::most_threads;
}

/// The number that an environment variable holds; 0 where it holds none.
[[nodiscard]] inline long threads_from(const char* variable) {
  const char* const text = std::getenv(variable);
  return text ? std::strtol(text, nullptr, 10) : 0;
}

[[nodiscard]] inline long available_cores() {
#if defined(__linux__)
  cpu_set_t cores;
  if (sched_getaffinity(0, sizeof cores, &cores) == 0) return CPU_COUNT(&cores);
#endif
  return sysconf(_SC_NPROCESSORS_ONLN);  // also where there are more cores than a cpu_set_t has room for
}

LOCUS_OUT_OF_LINE inline Atomic<int>& thread_limit() {
  static Atomic<int> limit{[] {
    for (const char* variable : {"LOCUS_NUM_THREADS", "OMP_NUM_THREADS"})
      if (const long count = threads_from(variable); count > 0) return within_limits(count);
    return within_limits(available_cores());
  }()};
  return limit;
}
}  // namespace detail

/// The number of threads that a loop may use: LOCUS_NUM_THREADS or OMP_NUM_THREADS where they are set (read at the
/// first call), otherwise as many as there are cores. 1 in a build without threads, and inside a parallel loop.
[[nodiscard]] inline int max_threads() {
  return detail::in_parallel_part ? 1 : detail::thread_limit().load(Order::relaxed);
}

/// From now on, loops started by any thread use at most `count` threads (at least one, at most 256).
inline void set_max_threads(int count) { detail::thread_limit().store(detail::within_limits(count), Order::relaxed); }

/// A function of a task's number, its type erased.
class TaskRef {
 public:
  template <class F>
  TaskRef(const F& f)
      : f_(&f),
        call_([](const void* task_function, std::int64_t task) { (*static_cast<const F*>(task_function))(task); }) {}
  void operator()(std::int64_t task) const { call_(f_, task); }

 private:
  const void* f_;
  void (*call_)(const void*, std::int64_t);
};

/// Into how many ranges per thread the tasks of a loop are cut, where there are so many. A thread waits at the end for
/// one range of another at most.
inline constexpr int ranges_per_thread = 4;
static_assert(ranges_per_thread * detail::ThreadTeam::most_threads <= detail::ThreadTeam::most_parts);

/// Calls f(task) for every task in [0, tasks), in contiguous ranges fixed by the number of tasks and threads. A range
/// mostly runs on the same thread; threads that are done steal ranges that others have not begun. Nested loops, and
/// those of a second thread at the same time, run serially. The first exception of a task is rethrown here, after all
/// threads are done. cost: under 1 us where threads share the work, none where one thread does
inline void parallel_for(std::int64_t tasks, TaskRef f) {
  struct Loop {
    TaskRef f;
    std::int64_t tasks, parts;
    Atomic<bool> failed{false};
    std::exception_ptr failure{};

    void run(std::int64_t part) noexcept {
      try {
        for (std::int64_t task = tasks * part / parts; task < tasks * (part + 1) / parts; ++task) f(task);
      } catch (...) {
        if (!failed.exchange(true)) failure = std::current_exception();
      }
    }
  };
  const auto at_most = [tasks](int count) { return tasks < count ? static_cast<int>(tasks) : count; };
  const int threads = tasks > 1 ? at_most(max_threads()) : 1;
  if (threads > 1) {
    Loop loop{f, tasks, at_most(ranges_per_thread * threads)};
    const auto run = [](void* context, int part) { static_cast<Loop*>(context)->run(part); };
    if (detail::ThreadTeam::instance().run(static_cast<int>(loop.parts), threads, run, &loop)) {
      if (loop.failure) std::rethrow_exception(loop.failure);
      return;
    }
  }
  for (std::int64_t task = 0; task < tasks; ++task) f(task);
}

}  // namespace cpu
}  // namespace locus::inline LOCUS_ABI
