#pragma once
// What communication leaves to be done beside the program: letters, last notes and connections that outlive their
// communicators.

#include <locus/dist/worker.hpp>

namespace locus::inline LOCUS_ABI::dist::detail {

/// A job that waits for no other one.
class Errand : public Job {
 public:
  [[nodiscard]] Job::Lane lane() const final { return {reinterpret_cast<std::intptr_t>(this), 0}; }
};

/// The thread of this process that does errands. exit() returns when all are done.
class Courier {
 public:
  /// Creates the thread, so that deliver() needs none. Static objects that deliver in their destructors call it in
  /// their constructors. throws OutOfMemory where the system grants no thread
  static void start() {
    Courier& here = instance();
    const Lock lock(here.mutex_);
    here.worker_.start();
  }
  static void deliver(const Shared<Errand>& errand) noexcept {
    try {
      Courier& here = instance();
      const Lock lock(here.mutex_);
      here.worker_.add(Shared<Job>(errand.get()));
    } catch (const std::exception&) {  // after fork() or finish(), no thread: what it uses is kept
      errand->retain();
    }
  }
  /// Returns when all errands are done, also those that they add: for a process that ends without its static objects.
  static void finish() noexcept {
    Couriers& all = Couriers::instance();
    if (all.is_here()) all.last->worker_.finish();
  }

 private:
  explicit Courier(Courier* inherited) : inherited_(inherited) {}

  /// Those of this process and of its ancestors.
  struct Couriers {
    Courier* last = nullptr;
    Mutex mutex{};

    ~Couriers() { finish(); }
    [[nodiscard]] bool is_here() const { return last && last->forks_ == locus::detail::fork_count(); }
    [[nodiscard]] static Couriers& instance() {
      static Couriers all;
      return all;
    }
    [[nodiscard]] static Mutex& its_mutex() { return instance().mutex; }
  };
  /// That of this process: fork() copies no thread, and what a parent has to deliver, the parent does.
  [[nodiscard]] static Courier& instance() {
    Couriers& all = Couriers::instance();
    (void)locus::detail::fork_count();  // which counts from its first call on
    static const bool waits = (locus::detail::wait_at_fork<&Couriers::its_mutex>(), true);
    (void)waits;
    const Lock lock(all.mutex);
    if (!all.is_here()) all.last = new Courier(all.last);
    return *all.last;
  }

  /// The parent's, whose thread is not here, and which is never deleted: held, so that it counts as no leak.
  [[maybe_unused]] Courier* inherited_;
  std::uint32_t forks_ = locus::detail::fork_count();
  Mutex mutex_{};
  Worker worker_{};
};

}  // namespace locus::inline LOCUS_ABI::dist::detail
