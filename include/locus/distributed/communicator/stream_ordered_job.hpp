#pragma once
// What another thread does in order with what this one queues on devices.

#include <locus/distributed/communicator/handle.hpp>
#include <locus/distributed/engine/worker.hpp>

namespace locus { inline namespace LOCUS_ABI { namespace dist::detail {

/// Orders the streams of two threads on two places: what the first had queued when this was made comes before what
/// the second queues after enter(), and what that had queued at leave() before what the first queues after join().
/// On a device without streams: nothing.
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

/// f() in another thread, in order with what the thread that made it queues on two places.
template <class D, class F>
class StreamOrderedJob final : public Job {
 public:
  StreamOrderedJob(D here, D there, F f) : order_(here, there), f_(std::move(f)) {}
  /// Returns when f did, and lets what follows on the device come after it. It never throws.
  void join() noexcept {
    this->await();
    try {
      order_.join();
    } catch (...) {
      failure_ = std::current_exception();
    }
  }
  /// After join(): throws what f did.
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
      } catch (...) {  // what f threw came first
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
