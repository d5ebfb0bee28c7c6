#pragma once
// Loops over the processor's cores, in programs compiled with -fopenmp or -pthread; serial in others.

#include <locus/device/cpu/thread_team.hpp>

#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <exception>

namespace locus::inline LOCUS_ABI {
namespace cpu {

namespace detail {
#if defined(_OPENMP) || defined(_REENTRANT)
inline constexpr bool has_threads = true;
#else
inline constexpr bool has_threads = false;
#endif

[[nodiscard]] inline int threads_from(const char* variable) {
  const char* const text = std::getenv(variable);
  const long count = text ? std::strtol(text, nullptr, 10) : 0;
  return count > 0 && count <= ThreadTeam::max_parts ? static_cast<int>(count) : 0;
}

[[nodiscard]] inline int available_cores() {
#if defined(__linux__)
  cpu_set_t cores;
  if (sched_getaffinity(0, sizeof cores, &cores) == 0) {
    const int count = CPU_COUNT(&cores);
    return count < ThreadTeam::max_parts ? count : ThreadTeam::max_parts;
  }
#endif
  return 1;
}

inline std::atomic<int>& thread_limit() {
  static std::atomic<int> limit{[] {
    if (!has_threads) return 1;
    if (const int count = threads_from("LOCUS_NUM_THREADS")) return count;
    if (const int count = threads_from("OMP_NUM_THREADS")) return count;
    return available_cores();
  }()};
  return limit;
}
}  // namespace detail

/// The number of threads that a loop may use: LOCUS_NUM_THREADS or OMP_NUM_THREADS where they are set (read at the
/// first call), otherwise as many as there are cores. 1 in a build without threads, and inside a parallel loop.
[[nodiscard]] inline int max_threads() {
  return detail::in_parallel_part ? 1 : detail::thread_limit().load(std::memory_order_relaxed);
}

/// From now on, loops started by any thread use at most `count` threads (at least one, at most 256).
inline void set_max_threads(int count) {
  const int most = detail::has_threads ? detail::ThreadTeam::max_parts : 1;
  detail::thread_limit().store(count < 1 ? 1 : count > most ? most : count, std::memory_order_relaxed);
}

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

/// Calls f(task) for every task in [0, tasks), in contiguous ranges fixed by the number of tasks and threads, each
/// range mostly on the same thread. Nested loops, and those of a second thread at the same time, run serially.
/// The first exception of a task leaves through here, after all threads are done.
/// cost: under 1 us where threads share the work, none where one thread does
inline void parallel_for(std::int64_t tasks, TaskRef f) {
  struct Loop {
    TaskRef f;
    std::int64_t tasks, parts;
    std::atomic<bool> failed{false};
    std::exception_ptr failure{};

    void run(std::int64_t part) noexcept {
      try {
        for (std::int64_t task = tasks * part / parts; task < tasks * (part + 1) / parts; ++task) f(task);
      } catch (...) {
        if (!failed.exchange(true)) failure = std::current_exception();
      }
    }
  };
  const std::int64_t limit = tasks > 1 ? max_threads() : 1;
  if (limit > 1) {
    Loop loop{f, tasks, tasks < limit ? tasks : limit};
    const auto run = [](void* context, int part) { static_cast<Loop*>(context)->run(part); };
    if (detail::ThreadTeam::instance().run(static_cast<int>(loop.parts), run, &loop)) {
      if (loop.failure) std::rethrow_exception(loop.failure);
      return;
    }
  }
  for (std::int64_t task = 0; task < tasks; ++task) f(task);
}

}  // namespace cpu
}  // namespace locus::inline LOCUS_ABI
