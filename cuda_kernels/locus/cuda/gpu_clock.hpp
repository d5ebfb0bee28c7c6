#pragma once
// When events of a GPU completed, by the host's clock.

#include <locus/core/std/posix.hpp>
#include <locus/core/std/shared.hpp>
#include <locus/cuda/event.hpp>
#include <locus/device/trace/trace_file.hpp>

#include <new>

namespace locus { inline namespace LOCUS_ABI { namespace cuda {

/// One moment by two clocks: an event of a GPU, and nanoseconds of the host.
class ClockPair : public Counted {
 public:
  ClockPair(cudaEvent_t event, std::int64_t host) : event_(event), host_(host) {}
  ~ClockPair() { disregard(cudaEventDestroy(event_)); }

  /// The host's time of an event that has completed; -1 if it cannot be told.
  [[nodiscard]] std::int64_t host_time(cudaEvent_t event) const noexcept {
    float passed = 0;  // milliseconds
    const cudaError_t error = cudaEventElapsedTime(&passed, event_, event);
    disregard(error);
    return error == cudaSuccess ? host_ + static_cast<std::int64_t>(1e6 * static_cast<double>(passed)) : -1;
  }

 private:
  cudaEvent_t event_;
  std::int64_t host_;
};

/// A GPU's clock, compared with the host's in a stream without other work, so that no comparison waits for any. Its
/// mutex is not held during calls of CUDA: one of them may block until another thread queues work.
class GpuClock {
 public:
  /// Clocks drift apart by up to some 10 us each second, and times between events are floats of milliseconds.
  static constexpr std::int64_t most_age = 1'000'000'000, longest_try = 1'000'000;  // ns
  /// More than a comparison's error and the drift of a long queue.
  static constexpr std::int64_t most_error = 10 * longest_try;  // ns

  /// The last comparison. If it is old, a new one, for which the calling thread waits up to 3 ms while other threads
  /// take the old one. Empty if none succeeded. The GPU is current.
  [[nodiscard]] Shared<ClockPair> pair() noexcept {
    cudaStream_t stream = nullptr;
    {
      const Lock lock(mutex_);
      if (!is_due()) return pair_;
      ++comparing_;
      stream = std::exchange(stream_, nullptr);
    }
    Shared<ClockPair> compared = compare(stream), replaced;
    {
      const Lock lock(mutex_);
      --comparing_;
      if (!stream_) std::swap(stream_, stream);
      replaced = pair_;  // its event is destroyed without the mutex
      if (compared) pair_ = compared;
    }
    if (stream) disregard(cudaStreamDestroy(stream));  // two threads made the first comparison
    return compared ? compared : replaced;
  }

 private:
  /// Whether the calling thread compares. Before there is a pair, threads do not wait for each other's comparison.
  [[nodiscard]] bool is_due() {
    const std::int64_t now = locus::detail::TraceFile::now(), age = now - tried_;
    const bool due = pair_ ? comparing_ == 0 && age >= most_age : comparing_ > 0 || age >= 10 * longest_try;
    if (due) tried_ = now;
    return due;
  }
  /// The best of three comparisons in a stream, which is created if it is null; empty if none succeeded.
  [[nodiscard]] static Shared<ClockPair> compare(cudaStream_t& stream) noexcept {
    if (!stream) {
      const cudaError_t error = cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking);
      disregard(error);
      if (error != cudaSuccess) stream = nullptr;
    }
    Shared<ClockPair> pair;
    std::int64_t best = longest_try;
    for (int i = 0; i < 3 && stream; ++i) compare(stream, pair, best);
    return pair;
  }
  static void compare(cudaStream_t stream, Shared<ClockPair>& pair, std::int64_t& best) noexcept {
    cudaEvent_t event = nullptr;
    cudaError_t error = cudaEventCreate(&event);
    const std::int64_t before = locus::detail::TraceFile::now();
    if (error == cudaSuccess) error = cudaEventRecord(event, stream);
    std::int64_t after = before;
    while (error == cudaSuccess || error == cudaErrorNotReady) {
      error = cudaEventQuery(event);
      disregard(error);
      after = locus::detail::TraceFile::now();
      if (error == cudaSuccess || after - before > longest_try) break;
    }
    disregard(error);
    const bool is_better = error == cudaSuccess && after - before < best;
    auto* const made = is_better ? new (std::nothrow) ClockPair(event, before + (after - before) / 2) : nullptr;
    if (made) {
      best = after - before;
      pair = Shared<ClockPair>(made);
    } else if (event) {
      disregard(cudaEventDestroy(event));
    }
  }

  Mutex mutex_;
  std::int64_t tried_ = 0;
  int comparing_ = 0;  ///< threads
  cudaStream_t stream_ = nullptr;
  Shared<ClockPair> pair_;
};

}}}  // namespace locus::LOCUS_ABI::cuda
