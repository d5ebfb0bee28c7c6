#pragma once
// Times work in a stream, for choosing among alternatives.

#include <locus/cuda/stream.hpp>

#include <limits>

namespace locus { inline namespace LOCUS_ABI { namespace cuda {

/// Times work queued in a context's stream. The host waits for it.
class StreamTimer {
 public:
  static constexpr float never = std::numeric_limits<float>::infinity();

  explicit StreamTimer(Context& context) : stream_(context.stream()) {
    check(cudaEventCreate(&start_), "cudaEventCreate");
    const cudaError_t error = cudaEventCreate(&end_);
    if (error != cudaSuccess) disregard(cudaEventDestroy(start_));
    check(error, "cudaEventCreate");
  }
  ~StreamTimer() {
    disregard(cudaEventDestroy(start_));
    disregard(cudaEventDestroy(end_));
  }
  StreamTimer(const StreamTimer&) = delete;
  StreamTimer& operator=(const StreamTimer&) = delete;

  /// Milliseconds that `queue()` takes: the median of five runs after one to warm up, or one run if that takes more
  /// than `most`. A run repeats short work, so that the time of the events does not dominate. `never` where queue()
  /// returns false, which it may at any time.
  template <class Queue>
  [[nodiscard]] float milliseconds(const Queue& queue, float most = never) const {
    if (!queue()) return never;
    const float once = run(1, queue);
    if (once > most) return once;
    const int repeats = once * most_repeats < worth_timing ? most_repeats
                        : once < worth_timing              ? static_cast<int>(worth_timing / once) + 1
                                                           : 1;
    float sorted[repetitions];
    for (int i = 0; i < repetitions; ++i) {
      const float time = run(repeats, queue);
      int at = i;
      for (; at > 0 && sorted[at - 1] > time; --at) sorted[at] = sorted[at - 1];
      sorted[at] = time;
    }
    return sorted[repetitions / 2];
  }

 private:
  static constexpr int repetitions = 5, most_repeats = 16;
  static constexpr float worth_timing = 0.2f;

  template <class Queue>
  [[nodiscard]] float run(int repeats, const Queue& queue) const {
    bool queued = true;
    check(cudaEventRecord(start_, stream_), "cudaEventRecord");
    for (int i = 0; i < repeats; ++i) queued = queued && queue();
    check(cudaEventRecord(end_, stream_), "cudaEventRecord");
    check(cudaEventSynchronize(end_), "cudaEventSynchronize");
    float time = 0;
    check(cudaEventElapsedTime(&time, start_, end_), "cudaEventElapsedTime");
    return queued ? time / static_cast<float>(repeats) : never;
  }

  cudaStream_t stream_;
  cudaEvent_t start_ = nullptr, end_ = nullptr;
};

}}}  // namespace locus::LOCUS_ABI::cuda
