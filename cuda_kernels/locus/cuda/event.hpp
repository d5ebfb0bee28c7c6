#pragma once
// Events in streams.

#include <locus/core/std/shared.hpp>
#include <locus/cuda/fault.hpp>
#include <locus/cuda/ordinal.hpp>
#include <locus/cuda/stream_order.hpp>

namespace locus { inline namespace LOCUS_ABI { namespace cuda {

/// During its lifetime, lets the calling thread make calls that a capture in this thread prohibits.
class UncapturedCalls {
 public:
  UncapturedCalls() { (void)cudaThreadExchangeStreamCaptureMode(&mode_); }
  ~UncapturedCalls() { (void)cudaThreadExchangeStreamCaptureMode(&mode_); }
  UncapturedCalls(const UncapturedCalls&) = delete;
  UncapturedCalls& operator=(const UncapturedCalls&) = delete;

 private:
  cudaStreamCaptureMode mode_ = cudaStreamCaptureModeRelaxed;
};

/// An event in a stream, as a shared handle.
class Event : public Counted {
 public:
  explicit Event(int ordinal) : ordinal_(ordinal) {
    const OrdinalGuard guard(ordinal);
    check(cudaEventCreateWithFlags(&event_, cudaEventDisableTiming), "cudaEventCreate");
  }
  ~Event() {
    try {
      const OrdinalGuard guard(ordinal_);  // or the call would start the current GPU
      disregard(cudaEventDestroy(event_));
    } catch (const Error&) {  // the GPU does not answer
    }
  }

  void record(cudaStream_t stream) {
    check(cudaEventRecord(event_, stream), "cudaEventRecord");
    if (streams_are_checked()) [[unlikely]]
      StreamOrder::instance().record(clock_, stream);
  }
  /// The stream waits for the event; the host does not.
  void block(cudaStream_t stream) const {
    check(cudaStreamWaitEvent(stream, event_, 0), "cudaStreamWaitEvent");
    if (streams_are_checked()) [[unlikely]]
      StreamOrder::instance().wait(stream, clock_);
  }
  /// throws CudaError, or the GPU's fault
  void wait() const {
    check(cudaEventSynchronize(event_), "cudaEventSynchronize");
    note_wait();
    Faults::require_none(ordinal_);
  }
  /// wait() where nothing can be thrown, as in a destructor. An error of a release stays for the thread's next call.
  void settle() const noexcept {
    disregard(cudaEventSynchronize(event_));  // an error: the GPU does not answer, and nothing more will run there
    try {
      if (streams_are_checked()) [[unlikely]]
        StreamOrder::instance().completed(clock_);
    } catch (const std::bad_alloc&) {  // the checker knows one order less
    }
  }
  /// Whether the event has completed. True also where the GPU no longer answers.
  [[nodiscard]] bool done() const noexcept {
    const UncapturedCalls anything_goes;
    const cudaError_t answer = cudaEventQuery(event_);
    disregard(answer);
    return answer != cudaErrorNotReady;
  }

  /// For the checker of stream order: the host knows that the event has completed. throws StreamError for a release
  void note_wait() const {
    if (!streams_are_checked()) [[likely]]
      return;
    StreamOrder::instance().completed(clock_);
    StreamOrder::throw_pending();
  }

 private:
  int ordinal_;
  cudaEvent_t event_ = nullptr;
  StreamClock clock_;  ///< of the stream when it was last recorded, where the order of streams is checked
};

/// Work queued in `second` from now on runs after the work queued in `first` so far. throws CudaError
LOCUS_OUT_OF_LINE inline void order_streams(int ordinal, cudaStream_t first, cudaStream_t second) {
  const OrdinalGuard guard(ordinal);
  Event event(ordinal);
  event.record(first);
  event.block(second);
}

/// Waits for the stream's work, where an event that should order it could not be recorded or awaited.
inline void settle(cudaStream_t stream) noexcept {
  disregard(cudaStreamSynchronize(stream));
  try {
    if (streams_are_checked()) [[unlikely]]
      StreamOrder::instance().completed(stream);
  } catch (const std::bad_alloc&) {  // the checker knows one order less
  }
}

}}}  // namespace locus::LOCUS_ABI::cuda
