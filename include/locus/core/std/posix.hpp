#pragma once
// Locks, counted forks and elapsed time, thinly over POSIX. <mutex> and <chrono> would cost every file that includes
// Locus 0.1 s with g++, and 0.6 s with nvcc.

#include <locus/core/config.hpp>

#include <pthread.h>

#include <cstdint>
#include <ctime>

namespace locus { inline namespace LOCUS_ABI {

/// A lock that one thread holds at a time.
class Mutex {
 public:
  Mutex() = default;
  Mutex(const Mutex&) = delete;
  Mutex& operator=(const Mutex&) = delete;

  /// For fork(), which copies the state of a mutex: acquire it before, and release it in both processes after.
  void hold() { pthread_mutex_lock(&mutex_); }
  void let_go() { pthread_mutex_unlock(&mutex_); }

 private:
  friend class Lock;
  pthread_mutex_t mutex_ = PTHREAD_MUTEX_INITIALIZER;
};

/// Holds a mutex while it lives.
class Lock {
 public:
  explicit Lock(Mutex& mutex) : mutex_(mutex.mutex_) { pthread_mutex_lock(&mutex_); }
  Lock(const Lock&) = delete;
  Lock& operator=(const Lock&) = delete;
  ~Lock() { pthread_mutex_unlock(&mutex_); }

 private:
  pthread_mutex_t& mutex_;
};

namespace detail {
/// From now on, fork() acquires the mutex that `of` returns and releases it in both processes.
template <Mutex& (*of)()>
void wait_at_fork() {
  const auto let_go = [] { of().let_go(); };
  pthread_atfork([] { of().hold(); }, let_go, let_go);
}

/// The number of calls of fork() between the first call of this function, in this process or an ancestor, and now.
/// State marked under a lower number belongs to a thread of an ancestor process; this process does not have the thread.
[[nodiscard]] inline std::uint32_t fork_count() {
  static std::uint32_t count = 0;
  [[maybe_unused]] static const int is_counted = pthread_atfork(nullptr, nullptr, [] { ++count; });
  return count;
}
}  // namespace detail

/// Elapsed time. Runs from its construction.
class Stopwatch {
 public:
  [[nodiscard]] double seconds() const { return now() - start_; }

 private:
  [[nodiscard]] static double now() {
    timespec time{};
    clock_gettime(CLOCK_MONOTONIC, &time);
    return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
  }
  double start_ = now();
};

}}  // namespace locus::LOCUS_ABI
