#pragma once
// LOCUS_TRACE=json: when work ran on a GPU, by markers in its stream that are read later, without waiting for the GPU.

#include <locus/core/std/shared.hpp>
#include <locus/cuda/event.hpp>
#include <locus/cuda/stream.hpp>
#include <locus/device/trace/trace_file.hpp>

#include <string>
#include <vector>

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

/// Work between two markers of a stream.
struct TimedWork {
  cudaStream_t stream;
  int ordinal;
  std::int64_t called;      ///< when the host began to queue it
  Shared<ClockPair> clock;  ///< from before it
  cudaEvent_t begin = nullptr, end = nullptr;
  std::int64_t process = 0;  ///< of the trace
  std::string event{};       ///< without its time
};

/// A GPU's clock, compared with the host's in a stream without other work, so that no comparison waits for any.
class GpuClock {
 public:
  /// Clocks drift apart by up to some 10 us each second, and times between events are floats of milliseconds.
  static constexpr std::int64_t most_age = 1'000'000'000, longest_try = 1'000'000;  // ns

  /// The last comparison, or a new one if the last is old; empty if none succeeded.
  [[nodiscard]] const Shared<ClockPair>& pair() {
    const std::int64_t now = locus::detail::TraceFile::now();
    if (now - tried_ < (pair_ ? most_age : longest_try * 10)) return pair_;
    tried_ = now;
    if (!stream_) {
      const cudaError_t error = cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking);
      disregard(error);
      if (error != cudaSuccess) stream_ = nullptr;
    }
    std::int64_t best = INT64_MAX;
    for (int i = 0; i < 3 && stream_; ++i) compare(best);
    return pair_;
  }

 private:
  void compare(std::int64_t& best) {
    cudaEvent_t event = nullptr;
    cudaError_t error = cudaEventCreate(&event);
    const std::int64_t before = locus::detail::TraceFile::now();
    if (error == cudaSuccess) error = cudaEventRecord(event, stream_);
    std::int64_t after = before;
    while (error == cudaSuccess || error == cudaErrorNotReady) {
      error = cudaEventQuery(event);
      disregard(error);
      after = locus::detail::TraceFile::now();
      if (error == cudaSuccess || after - before > longest_try) break;
    }
    disregard(error);
    if (error == cudaSuccess && after - before < best) {
      best = after - before;
      pair_ = Shared<ClockPair>(new ClockPair(event, before + best / 2));
    } else if (event) {
      disregard(cudaEventDestroy(event));
    }
  }

  cudaStream_t stream_ = nullptr;
  std::int64_t tried_ = 0;
  Shared<ClockPair> pair_;
};

/// The work of all streams, in tracks of the trace. Nothing here throws, waits for a stream, or touches a capture: work
/// that cannot be timed has no event on its stream's track.
class GpuTimeline {
 public:
  /// Pieces of work that wait for their end. Beyond it, work is not timed.
  static constexpr std::size_t most_queued = 8192, looks_at = 256;

  [[nodiscard]] LOCUS_OUT_OF_LINE static GpuTimeline& instance() {
    static auto* const timeline = [] {  // never destroyed: threads may still queue work
      auto* const made = new GpuTimeline;
      (void)std::atexit([] { instance().collect(true); });  // before CUDA's own, which it registered earlier
      locus::detail::TraceFile::instance().collect_by([](bool waits) noexcept { instance().collect(waits); });
      return made;
    }();
    return *timeline;
  }

  /// Marks the begin of work that the calling thread queues; null: it is not timed.
  [[nodiscard]] LOCUS_COLD TimedWork* begin(const Context& context) noexcept try {
    const std::int64_t called = locus::detail::TraceFile::now();
    if (ContextRegistry::capturing_of_thread() || is_captured(context.stream())) return nullptr;
    const UncapturedCalls anything_goes;
    const OrdinalGuard guard(context.ordinal());
    const Lock lock(mutex_);
    if (queued_ % looks_at == looks_at - 1) write_completed(0);
    const Shared<ClockPair>& clock = clocks_[context.ordinal()].pair();
    if (queued_ >= most_queued || !clock) return nullptr;
    auto* const work = new TimedWork{context.stream(), context.ordinal(), called, clock};
    work->begin = marker(work->ordinal);
    work->end = marker(work->ordinal);
    if (work->begin && work->end && marks(work->begin, work->stream)) {
      ++queued_;
      return work;
    }
    forget(work);
    return nullptr;
  } catch (const std::exception&) {
    return nullptr;
  }
  /// Marks its end, after all calls that queue it. `event` is its event without the time.
  LOCUS_COLD void end(TimedWork* work, const locus::detail::TraceText& event) noexcept {
    try {
      const OrdinalGuard guard(work->ordinal);
      if (marks(work->end, work->stream)) {
        work->process = locus::detail::TraceFile::instance().here().process;
        work->event = event.view();
        const Lock lock(mutex_);
        line_of(*work).queued.push_back(work);
        return;
      }
    } catch (const std::exception&) {}  // the GPU does not answer, or memory is short
    abandon(work);
  }
  /// Gives up work whose end is not marked.
  LOCUS_COLD void abandon(TimedWork* work) noexcept {
    const Lock lock(mutex_);
    drop(work);
  }

 private:
  /// A stream's track.
  struct Line {
    cudaStream_t stream;
    int ordinal;
    std::int64_t number;               ///< among the GPU's streams
    std::uint32_t file = 0;            ///< in which the track has a name,
    std::int64_t process = -1;         ///< and the process of the track there
    std::int64_t written = 0;          ///< the end of its last event
    std::vector<TimedWork*> queued{};  ///< the first ends first
  };

  GpuTimeline() = default;

  [[nodiscard]] static bool is_captured(cudaStream_t stream) noexcept {
    cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
    const cudaError_t error = cudaStreamIsCapturing(stream, &status);
    disregard(error);
    return error != cudaSuccess || status != cudaStreamCaptureStatusNone;
  }
  [[nodiscard]] static bool marks(cudaEvent_t event, cudaStream_t stream) noexcept {
    const cudaError_t error = cudaEventRecord(event, stream);
    disregard(error);
    return error == cudaSuccess;
  }
  [[nodiscard]] cudaEvent_t marker(int ordinal) {
    auto& spare = spare_[ordinal];
    cudaEvent_t event = nullptr;
    if (spare.empty()) {
      disregard(cudaEventCreate(&event));
    } else {
      event = spare.back();
      spare.pop_back();
    }
    return event;
  }
  void forget(TimedWork* work) noexcept {
    for (cudaEvent_t event : {work->begin, work->end}) {
      try {
        if (event) spare_[work->ordinal].push_back(event);
      } catch (const std::bad_alloc&) {
        disregard(cudaEventDestroy(event));
      }
    }
    delete work;
  }
  void drop(TimedWork* work) noexcept {
    --queued_;
    forget(work);
  }
  [[nodiscard]] Line& line_of(const TimedWork& work) {
    std::int64_t number = 0;
    for (Line& line : lines_) {
      if (line.stream == work.stream && line.ordinal == work.ordinal) return line;
      number += line.ordinal == work.ordinal;
    }
    lines_.push_back({work.stream, work.ordinal, number});
    return lines_.back();
  }

  /// `waits`: for work that still runs, at most two seconds in all, and then drops it.
  LOCUS_COLD void collect(bool waits) noexcept try {
    if (process_ != getpid()) return;  // a fork cannot use the GPU
    const UncapturedCalls anything_goes;
    const Lock lock(mutex_);
    write_completed(waits ? locus::detail::TraceFile::now() + 2'000'000'000 : 0);
    if (!waits) return;
    for (Line& line : lines_) {
      for (TimedWork* const work : line.queued) drop(work);
      line.queued.clear();
    }
  } catch (const std::exception&) {}
  void write_completed(std::int64_t until) {
    for (Line& line : lines_) {
      std::size_t count = 0;
      while (count < line.queued.size() && is_done(line.queued[count]->end, until)) {
        write(line, *line.queued[count]);
        drop(line.queued[count++]);
      }
      line.queued.erase(line.queued.begin(), line.queued.begin() + static_cast<std::ptrdiff_t>(count));
    }
  }
  [[nodiscard]] static bool is_done(cudaEvent_t event, std::int64_t until) noexcept {
    for (;;) {
      const cudaError_t error = cudaEventQuery(event);
      disregard(error);
      if (error != cudaErrorNotReady) return true;  // also where the GPU no longer answers
      if (locus::detail::TraceFile::now() >= until) return false;
      usleep(50);
    }
  }
  /// Work begins after the call that queues it, and after the work before it in its stream.
  void write(Line& line, const TimedWork& work) {
    auto& file = locus::detail::TraceFile::instance();
    std::int64_t begin = work.clock->host_time(work.begin), end = work.clock->host_time(work.end);
    if (begin < 0 || end < 0) return;
    for (const std::int64_t least : {work.called, line.written})
      if (begin < least) begin = least;
    if (end < begin) end = begin;
    line.written = end;
    locus::detail::TraceText event;
    file.add(locus::detail::end_event(event.add(work.event), track_of(line, work.process), begin, end));
  }
  [[nodiscard]] static locus::detail::TraceTrack track_of(Line& line, std::int64_t process) {
    auto& file = locus::detail::TraceFile::instance();
    const locus::detail::TraceTrack track = file.stream(process, line.ordinal, line.number);
    if (line.file == file.number() && line.process == process) return track;
    line.file = file.number();
    line.process = process;
    locus::detail::TraceText name;
    name.add("cuda:").add(std::int64_t{line.ordinal}).add(" stream ").add(line.number);
    file.add(locus::detail::event_about("thread_name", track, name.view()));
    file.add(locus::detail::event_about("thread_sort_index", track, 1000 * (line.ordinal + 1) + line.number));
    return track;
  }

  const pid_t process_ = getpid();
  Mutex mutex_;
  std::size_t queued_ = 0;  ///< work between begin() and its event
  std::vector<Line> lines_;
  GpuClock clocks_[max_devices];
  std::vector<cudaEvent_t> spare_[max_devices];
};

}}}  // namespace locus::LOCUS_ABI::cuda
