#pragma once
// Work on a GPU that is timed by markers, and queues of it.

#include <locus/cuda/gpu_clock.hpp>

#include <string>

namespace locus { inline namespace LOCUS_ABI { namespace cuda {

/// Work between two markers of a stream.
struct TimedWork {
  const int ordinal;
  cudaStream_t stream = nullptr;
  std::int64_t called = 0;    ///< when the host began to queue it
  Shared<ClockPair> clock{};  ///< from before it
  cudaEvent_t begin = nullptr, end = nullptr;
  std::int64_t process = 0;  ///< of the trace
  std::string event{};       ///< without its time
  TimedWork* next = nullptr;
};

/// Work in the order in which it was added.
class TimedQueue {
 public:
  [[nodiscard]] TimedWork* first() const { return first_; }
  void push(TimedWork* work) {
    work->next = nullptr;
    (last_ ? last_->next : first_) = work;
    last_ = work;
  }
  TimedWork* pop() {
    TimedWork* const work = first_;
    if (work) first_ = work->next;
    if (!first_) last_ = nullptr;
    return work;
  }

 private:
  TimedWork *first_ = nullptr, *last_ = nullptr;
};

}}}  // namespace locus::LOCUS_ABI::cuda
