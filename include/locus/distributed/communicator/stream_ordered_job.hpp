#pragma once
// Jobs of another thread, ordered by events with this thread's work on devices.

#include <locus/distributed/communicator/handle.hpp>
#include <locus/distributed/engine/worker.hpp>

namespace locus { inline namespace LOCUS_ABI { namespace dist::detail {

/// Orders the streams of two threads on two places by events: work that the first thread queued before the constructor
/// runs before work that the second queues after enter(); work that the second queued before leave() runs before work
/// that the first queues after join(). No-op on a device without streams.
template <class D>
class CrossThreadOrder {
 public:
  CrossThreadOrder(D here, D there) : places_{here, there} { record(before_); }
  void enter() const { wait(before_); }
  void leave() { record(after_); }
  void join() const { wait(after_); }

 private:
  using EventOrNone = typename EventOf<D>::type;
  void record([[maybe_unused]] EventOrNone (&events)[2]) const {
    if constexpr (StreamingDevice<D>)
      for (int i = 0; i < 2; ++i) events[i] = Stream<D>::current(places_[i]).record();
  }
  void wait([[maybe_unused]] const EventOrNone (&events)[2]) const {
    if constexpr (StreamingDevice<D>)
      for (int i = 0; i < 2; ++i) Stream<D>::current(places_[i]).wait(events[i]);
  }

  D places_[2];
  EventOrNone before_[2]{}, after_[2]{};
};

/// Calls f() in another thread, ordered on two places with the work of the thread that made the job.
template <class D, class F>
class StreamOrderedJob final : public Job {
 public:
  StreamOrderedJob(D here, D there, F f) : order_(here, there), f_(std::move(f)) {}
  /// Waits for f, and orders this thread's later work on the device after it. Never throws.
  void join() noexcept {
    this->await();
    try {
      order_.join();
    } catch (...) {
      failure_ = std::current_exception();
    }
  }
  /// After join(): throws the exception of f or of join().
  void require_success() {
    this->rethrow();
    if (failure_) std::rethrow_exception(std::exchange(failure_, nullptr));
  }

 private:
  bool run() override {
    order_.enter();
    try {
      f_();
    } catch (...) {
      try {
        order_.leave();
      } catch (...) {  // the exception of f came first
      }
      throw;
    }
    order_.leave();
    return true;
  }

  CrossThreadOrder<D> order_;
  F f_;
  std::exception_ptr failure_;
};

}}}  // namespace locus::LOCUS_ABI::dist::detail
