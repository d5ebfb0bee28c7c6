#pragma once
// What communication leaves to be done beside the program: letters, last notes and connections that outlive their
// communicators.

#include <locus/distributed/engine/worker.hpp>

#include <unistd.h>

namespace locus { inline namespace LOCUS_ABI { namespace dist::detail {

/// A job that waits for no other one.
class Errand : public Job {
 public:
  [[nodiscard]] Job::Lane lane() const final { return {reinterpret_cast<std::intptr_t>(this), 0}; }
};

/// The thread of this process that does errands. exit() waits until all are done.
class Courier {
 public:
  /// Creates the thread, so that deliver() needs none. Static objects that deliver in their destructors call it in
  /// their constructors. throws OutOfMemory where the system grants no thread
  static void start() {
    if (has_ended_.load()) return;
    Courier& here = instance();
    const Lock lock(here.mutex_);
    here.worker_.start();
  }
  /// Once exit() has ended the thread, static objects that are older than it do their errands themselves.
  static void deliver(const Shared<Errand>& errand) noexcept {
    if (has_ended_.load()) {
      while (!errand->advance(true)) usleep(1000);
      return;
    }
    try {
      Courier& here = instance();
      const Lock lock(here.mutex_);
      here.worker_.add(Shared<Job>(errand.get()));
    } catch (const std::exception&) {  // the system grants no thread: what it uses is kept
      errand->retain();
    }
  }
  /// Returns when all errands are done, also those that they add: for a process that ends without its static objects.
  /// The next errand has a thread again.
  static void finish() noexcept {
    if (has_ended_.load()) return;
    Lineage& all = Lineage::instance();
    if (all.is_here()) all.last->worker_.finish();
  }

 private:
  explicit Courier(Courier* inherited) : inherited_(inherited) {}

  /// The couriers of this process and of its ancestors by fork().
  struct Lineage {
    Courier* last = nullptr;
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
  /// That of this process: fork() copies no thread, and what a parent has to deliver, the parent does.
  [[nodiscard]] static Courier& instance() {
    Lineage& all = Lineage::instance();
    (void)locus::detail::fork_count();  // which counts from its first call on
    static const bool waits = (locus::detail::wait_at_fork<&Lineage::its_mutex>(), true);
    (void)waits;
    const Lock lock(all.mutex);
    if (!all.is_here()) all.last = new Courier(all.last);
    return *all.last;
  }

  /// Outlives all static objects.
  static inline Atomic<bool> has_ended_{false};

  /// The parent's, whose thread is not in this process. It is never deleted; this pointer keeps leak checkers quiet.
  [[maybe_unused]] Courier* inherited_;
  std::uint32_t forks_ = locus::detail::fork_count();
  Mutex mutex_{};
  Worker worker_{};
};

}}}  // namespace locus::LOCUS_ABI::dist::detail
