#pragma once
// Work for threads that no loop needs, a step at a time: preparing parts of batches ahead. A thread of its own would be
// one more than there are cores, and would interrupt the others within their parts of loops.

#include <locus/core/std/atomic.hpp>
#include <locus/core/std/posix.hpp>

#include <sched.h>

namespace locus { inline namespace LOCUS_ABI { namespace cpu {

class BackgroundWork {
 public:
  BackgroundWork() = default;
  BackgroundWork(const BackgroundWork&) = delete;
  BackgroundWork& operator=(const BackgroundWork&) = delete;
  virtual ~BackgroundWork() = default;

  /// Runs a step on this thread, if there is a step and no other thread runs one. Returns whether it did. Threads that
  /// find the work busy look again when steps are offered.
  bool help() {
    if (!begin()) return false;
    step();
    end();
    return true;
  }

 private:
  friend class BackgroundList;

  /// Whether there is a step to do. Asked by many threads.
  [[nodiscard]] virtual bool has_step() const = 0;
  /// Called by one thread at a time, which sees the effects of the last call; must not throw.
  virtual void step() noexcept = 0;

  [[nodiscard]] bool begin() {
    if (!has_step() || under_way_.exchange(true, Order::acquire)) return false;
    if (has_step()) return true;
    end();
    return false;
  }
  void end() { under_way_.store(false, Order::release); }

  Atomic<bool> under_way_{false};
  BackgroundWork* next_ = nullptr;
};

/// The list of background work.
class BackgroundList {
 public:
  void add(BackgroundWork& work) {
    const Lock lock(mutex_);
    work.next_ = first_;
    first_ = &work;
  }
  /// Returns when no thread runs a step of the work, nor will.
  void remove(BackgroundWork& work) {
    {
      const Lock lock(mutex_);
      BackgroundWork** at = &first_;
      while (*at != &work) at = &(*at)->next_;
      *at = work.next_;
    }
    while (work.under_way_.exchange(true, Order::acquire)) sched_yield();
  }
  /// Returns when no thread runs a step of any work; no step begins until let_go().
  void hold() {
    mutex_.hold();
    for (BackgroundWork* work = first_; work; work = work->next_)
      while (work->under_way_.exchange(true, Order::acquire)) sched_yield();
  }
  void let_go() {
    for (BackgroundWork* work = first_; work; work = work->next_) work->end();
    mutex_.let_go();
  }
  /// Runs a step of some work in the list; false if there is none.
  bool step() {
    BackgroundWork* const work = begin();
    if (!work) return false;
    work->step();
    work->end();
    return true;
  }

 private:
  [[nodiscard]] BackgroundWork* begin() {
    const Lock lock(mutex_);  // no work is removed between being found and being begun
    BackgroundWork* work = first_;
    while (work && !work->begin()) work = work->next_;
    return work;
  }

  Mutex mutex_;
  BackgroundWork* first_ = nullptr;
};

}}}  // namespace locus::LOCUS_ABI::cpu
