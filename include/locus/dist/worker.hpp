#pragma once
// What is done beside a rank's own thread, in order.

#include <locus/core/check.hpp>
#include <locus/core/posix.hpp>
#include <locus/core/shared.hpp>

#include <exception>
#include <vector>

namespace locus::inline LOCUS_ABI::dist::detail {

/// Something to do, that others wait for.
class Job : public Counted {
 public:
  virtual ~Job() = default;
  void execute() noexcept {
    try {
      run();
    } catch (...) {
      error_ = std::current_exception();
    }
    done_.store(1, Order::release);
    done_.notify();
  }
  [[nodiscard]] bool done() const { return done_.load(Order::acquire) != 0; }
  void await() noexcept { done_.wait(0); }
  /// After it was done, once: throws what it threw.
  void rethrow() {
    if (error_) std::rethrow_exception(std::exchange(error_, nullptr));
  }

 protected:
  virtual void run() = 0;

 private:
  Signal done_{0};
  std::exception_ptr error_;
};

/// A thread that does jobs in the order in which they are added. It begins with the first, and ends with this object,
/// after all jobs.
class Worker {
 public:
  Worker() = default;
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;
  ~Worker() { finish(); }

  /// Returns when all jobs are done. None are added from then on.
  void finish() noexcept {
    if (!std::exchange(has_thread_, false)) return;
    ending_.store(true);
    count_.fetch_add(1);
    count_.notify();
    pthread_join(thread_, nullptr);
  }

  /// Whether all that was added is done.
  [[nodiscard]] bool is_idle() const { return pending_.load(Order::acquire) == 0; }

  /// throws OutOfMemory where the system grants no thread
  void add(const Shared<Job>& job) {
    if (!has_thread_) {
      if (pthread_create(
              &thread_, nullptr, [](void* self) { return static_cast<Worker*>(self)->serve(); }, this) != 0)
        fail<OutOfMemory>({"dist: the system grants no thread for asynchronous collectives; use fewer threads"});
      has_thread_ = true;
    }
    {
      const Lock lock(mutex_);
      jobs_.push_back(job);
    }
    pending_.fetch_add(1);
    count_.fetch_add(1);
    count_.notify();
  }

 private:
  void* serve() {
    for (;;) {
      const std::uint32_t count = count_.load();
      std::vector<Shared<Job>> jobs;
      {
        const Lock lock(mutex_);
        jobs.swap(jobs_);
      }
      for (const Shared<Job>& job : jobs) {
        job->execute();
        pending_.fetch_sub(1, Order::release);
      }
      if (!jobs.empty()) continue;
      if (ending_.load()) return nullptr;
      count_.wait(count);
    }
  }

  pthread_t thread_{};
  bool has_thread_ = false;
  Atomic<bool> ending_{false};
  Atomic<int> pending_{0};
  Signal count_{0};
  Mutex mutex_;
  std::vector<Shared<Job>> jobs_;
};

}  // namespace locus::inline LOCUS_ABI::dist::detail
