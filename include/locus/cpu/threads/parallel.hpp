#pragma once
// Loops over the processor's cores, in programs compiled with -fopenmp or -pthread; serial in others.

#include <locus/core/std/atomic.hpp>
#include <locus/core/std/bounds.hpp>
#include <locus/core/system/environment.hpp>
#include <locus/cpu/threads/thread_team.hpp>

#include <unistd.h>

#include <cstdint>
#include <exception>
#include <initializer_list>

namespace locus { inline namespace LOCUS_ABI { namespace cpu {

namespace detail {
[[nodiscard]] inline int within_limits(std::int64_t threads) {
  if (!LOCUS_THREADS || threads < 1) return 1;
  return threads < ThreadTeam::most_threads ? static_cast<int>(threads) : ThreadTeam::most_threads;
}

/// The number in LOCUS_NUM_THREADS, else in OMP_NUM_THREADS. The latter belongs to others: of a list for nested loops,
/// the first number counts, and any other text is ignored. 0 if neither is set. throws ArgumentError for a
/// LOCUS_NUM_THREADS that is not a number
[[nodiscard]] LOCUS_COLD inline std::int64_t threads_of_environment() {
  const int count = locus::detail::number_from_environment("LOCUS_NUM_THREADS", "threads", 0, INT32_MAX);
  if (count > 0) return count;
  const std::string_view others = locus::detail::environment("OMP_NUM_THREADS");
  return locus::detail::larger<std::int64_t>(locus::detail::whole_number(others.substr(0, others.find(','))), 0);
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
    const std::int64_t wanted = threads_of_environment();
    return within_limits(wanted > 0 ? wanted : available_cores());
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

/// Ranges per thread into which the tasks of a loop are cut, if there are so many. At the end a thread waits for at
/// most one range of another thread.
inline constexpr int ranges_per_thread = 4;
static_assert(ranges_per_thread * detail::ThreadTeam::most_threads <= detail::ThreadTeam::most_parts);

/// Calls f(task) for every task in [0, tasks), in contiguous ranges fixed by the number of tasks and threads. A range
/// mostly runs on the same thread; threads that are done steal ranges that others have not begun. Nested loops run
/// serially, and so do loops that a second thread starts at the same time. The first exception of a task is rethrown
/// here, after all threads are done. cost: under 1 us where threads share the work, none where one thread does
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

}}}  // namespace locus::LOCUS_ABI::cpu
