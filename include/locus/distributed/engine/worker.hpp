#pragma once
// Jobs, and threads that run them beside a rank's own thread.

#include <locus/core/check.hpp>
#include <locus/distributed/engine/engine.hpp>

#include <exception>

namespace locus { inline namespace LOCUS_ABI { namespace dist::detail {

/// A job, for which other threads can wait.
class Job : public Owner {
 public:
  /// Continues the job. Whether it is done, or failed. `is_last`: a thread waits for the worker to end.
  bool advance(bool is_last = false) noexcept {
    is_last_ = is_last;
    try {
      if (!run()) return false;
    } catch (...) {
      error_ = std::current_exception();
    }
    done_.store(1, Order::release);
    done_.notify();
    return true;
  }
  /// Jobs of the same lane run one after another; jobs of different lanes do not wait for each other.
  struct Lane {
    std::int64_t major = 0, minor = 0;
    friend bool operator==(const Lane&, const Lane&) = default;
  };
  [[nodiscard]] virtual Lane lane() const { return {}; }

  [[nodiscard]] bool done() const { return done_.load(Order::acquire) != 0; }
  void await() noexcept { done_.wait(0); }
  /// After the job is done, once: throws its exception.
  void rethrow() {
    if (error_) std::rethrow_exception(std::exchange(error_, nullptr));
  }

 protected:
  /// False: the job is not done yet, and is called again.
  virtual bool run() = 0;
  /// Within run(): whether a thread waits for the worker to end, as exit() does.
  [[nodiscard]] bool is_last() const { return is_last_; }

 private:
  friend class Worker;
  bool is_last_ = false;
  Signal done_{0};
  std::exception_ptr error_;
  Shared<Job> next_;
};

/// A thread that runs jobs: jobs of a lane in the order in which they were added. It starts with the first job, or
/// start(), and ends with this object, after all jobs.
class Worker {
 public:
  Worker() = default;
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;
  ~Worker() { finish(); }

  /// Returns when all jobs are done, including jobs that they add. Not concurrent with add() of another thread.
  void finish() noexcept {
    if (!has_thread_) return;
    ending_.store(true);
    count_.fetch_add(1);
    count_.notify();
    pthread_join(thread_, nullptr);
    has_thread_ = false;
    ending_.store(false);
  }

  /// Whether all added jobs are done.
  [[nodiscard]] bool is_idle() const { return open_.load(Order::acquire) == 0; }

  /// Starts the thread, so that the next add() does not throw. throws OutOfMemory if the system grants none
  void start() {
    if (has_thread_) return;
    if (pthread_create(
            &thread_, nullptr, [](void* self) { return static_cast<Worker*>(self)->serve(); }, this) != 0)
      fail<OutOfMemory>({"dist: the system grants no thread for what a rank does beside its own; use fewer threads"});
    has_thread_ = true;
  }
  /// Adds a job; one thread at a time. throws OutOfMemory if the system grants no thread: the job was not added
  void add(const Shared<Job>& job) {
    start();
    open_.fetch_add(1);
    {
      const Lock lock(mutex_);
      append(added_, job);
    }
    count_.fetch_add(1);
    count_.notify();
  }

 private:
  /// A queue linked through Job::next_: adding allocates no memory.
  struct Queue {
    Shared<Job> first{}, last{};
  };
  static void append(Queue& queue, const Shared<Job>& job) noexcept {
    (queue.first ? queue.last->next_ : queue.first) = job;
    queue.last = job;
  }

  void* serve() noexcept {
    Queue open;
    for (int idle = 0;;) {
      const std::uint32_t count = count_.load();
      const bool ending = ending_.load();  // read first: jobs added before the end are then queued
      {
        const Lock lock(mutex_);
        if (added_.first) {
          append(open, added_.first);
          open.last = added_.last;
          added_ = {};
        }
      }
      if (sweep(open, ending)) {
        idle = 0;
      } else if (open.first) {
        if (++idle < 100) sched_yield();
        else count_.wait_at_most(count, 1);
      } else {
        if (ending) return nullptr;
        count_.wait(count);
      }
    }
  }
  /// Advances each job whose lane has no earlier one. Whether one was done.
  bool sweep(Queue& open, bool ending) noexcept {
    bool any = false;
    Queue still_open;
    for (Shared<Job> job = std::move(open.first); job;) {
      Shared<Job> next = std::move(job->next_);
      if (is_behind(*job, still_open) || !job->advance(ending)) {
        append(still_open, job);
      } else {
        any = true;
        open_.fetch_sub(1, Order::release);
      }
      job = std::move(next);
    }
    open = std::move(still_open);
    return any;
  }
  [[nodiscard]] static bool is_behind(const Job& job, const Queue& earlier) noexcept {
    for (const Job* other = earlier.first.get(); other; other = other->next_.get())
      if (other->lane() == job.lane()) return true;
    return false;
  }

  pthread_t thread_{};
  bool has_thread_ = false;
  Atomic<bool> ending_{false};
  Atomic<int> open_{0};
  Signal count_{0};
  Mutex mutex_;
  Queue added_;
};

}}}  // namespace locus::LOCUS_ABI::dist::detail
