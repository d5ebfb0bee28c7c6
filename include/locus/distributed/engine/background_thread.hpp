#pragma once
// The thread for background jobs of communication: messages, final control messages and connections that outlive their
// communicators.

#include <locus/distributed/engine/worker.hpp>

#include <unistd.h>

namespace locus { inline namespace LOCUS_ABI { namespace dist::detail {

/// A job in a lane of its own: it waits for no other job.
class BackgroundJob : public Job {
 public:
  [[nodiscard]] Job::Lane lane() const final { return {reinterpret_cast<std::intptr_t>(this), 0}; }
};

/// The thread of this process that runs background jobs. exit() waits until all are done.
class BackgroundThread {
 public:
  /// Creates the thread, so that deliver() need not. Static objects that deliver in their destructors call it in their
  /// constructors. throws OutOfMemory if the system grants no thread
  static void start() {
    if (has_ended_.load()) return;
    BackgroundThread& here = instance();
    const Lock lock(here.mutex_);
    here.worker_.start();
  }
  /// Queues a job. Once exit() has ended the thread, the caller runs the job: a static object older than the thread.
  static void deliver(const Shared<BackgroundJob>& job) noexcept {
    if (has_ended_.load()) {
      while (!job->advance(true)) usleep(1000);
      return;
    }
    try {
      BackgroundThread& here = instance();
      const Lock lock(here.mutex_);
      here.worker_.add(Shared<Job>(job.get()));
    } catch (const std::exception&) {  // the system grants no thread: the job's memory is kept
      job->retain();
    }
  }
  /// Returns when all background jobs are done, including jobs that they add: for a process that ends without
  /// destroying static objects. The next background job starts a thread again.
  static void finish() noexcept {
    if (has_ended_.load()) return;
    Lineage& all = Lineage::instance();
    if (all.is_here()) all.last->worker_.finish();
  }

 private:
  explicit BackgroundThread(BackgroundThread* inherited) : inherited_(inherited) {}

  /// The background threads of this process and of its ancestors by fork().
  struct Lineage {
    BackgroundThread* last = nullptr;
    Mutex mutex{};

    ~Lineage() {
      finish();
      has_ended_.store(true);
    }
    [[nodiscard]] bool is_here() const { return last && last->forks_ == locus::detail::fork_count(); }
    [[nodiscard]] static Lineage& instance() {
      static Lineage all;
      return all;
    }
    [[nodiscard]] static Mutex& its_mutex() { return instance().mutex; }
  };
  /// The background thread of this process. A child of fork() gets a new one: fork() copies no thread, and the parent
  /// runs its own jobs.
  [[nodiscard]] static BackgroundThread& instance() {
    Lineage& all = Lineage::instance();
    (void)locus::detail::fork_count();  // it counts from its first call on
    static const bool waits = (locus::detail::wait_at_fork<&Lineage::its_mutex>(), true);
    (void)waits;
    const Lock lock(all.mutex);
    if (!all.is_here()) all.last = new BackgroundThread(all.last);
    return *all.last;
  }

  /// Outlives all static objects.
  static inline Atomic<bool> has_ended_{false};

  /// The parent's background thread, which does not run in this process. It is never deleted; this pointer keeps leak
  /// checkers quiet.
  [[maybe_unused]] BackgroundThread* inherited_;
  std::uint32_t forks_ = locus::detail::fork_count();
  Mutex mutex_{};
  Worker worker_{};
};

}}}  // namespace locus::LOCUS_ABI::dist::detail
