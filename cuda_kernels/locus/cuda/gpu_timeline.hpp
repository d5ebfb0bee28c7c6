#pragma once
// LOCUS_TRACE=json: when work ran on a GPU, by markers in its stream that are read once it has passed them.

#include <locus/cuda/stream.hpp>
#include <locus/cuda/timed_work.hpp>

#include <vector>

namespace locus { inline namespace LOCUS_ABI { namespace cuda {

/// The work of all streams, in tracks of the trace. Nothing here throws or touches a capture: work that cannot be timed
/// has no event on its stream's track. A marker waits where a launch would: while the launch queue of its stream is
/// full. The mutex is held during no call of CUDA, and one thread at a time collects completed work while others go on,
/// so no launch waits for a call of another thread. Only the end of a trace waits for work, or for a thread that
/// collects, at most `longest_wait`.
class GpuTimeline {
 public:
  /// Pieces of work that wait for their end. Beyond it, work is not timed until the first of them have ended.
  static constexpr std::size_t most_queued = 8192;
  static constexpr std::size_t looks_at = 256;                 ///< launches between two looks for completed work
  static constexpr std::int64_t longest_wait = 2'000'000'000;  ///< of the end of a trace, in ns

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
    if (is_time_to_look()) collect(false);
    const Shared<ClockPair> clock = clocks_[context.ordinal()].pair();
    TimedWork* const work = clock ? unused(context.ordinal()) : nullptr;
    if (!work) return nullptr;
    work->stream = context.stream();
    work->called = called;
    work->clock = clock;
    if (has_markers(*work) && marks(work->begin, work->stream)) return work;
    abandon(work);
    return nullptr;
  } catch (const std::exception&) {
    return nullptr;
  }
  /// Marks its end, after all calls that queue it. `event` is its event without the time.
  LOCUS_COLD void end(TimedWork* work, const locus::detail::TraceText& event) noexcept {
    try {
      const OrdinalGuard guard(work->ordinal);
      work->event = event.view();
      work->process = locus::detail::TraceFile::instance().here().process;
      if (marks(work->end, work->stream)) {
        const Lock lock(mutex_);
        return marked_.push(work);
      }
    } catch (const std::exception&) {}  // the GPU does not answer, or memory is short
    abandon(work);
  }
  /// Gives up work whose end is not marked, or takes back work whose event is written.
  LOCUS_COLD void abandon(TimedWork* work) noexcept {
    work->clock = {};
    const Lock lock(mutex_);
    --queued_;
    work->next = std::exchange(unused_[work->ordinal], work);
  }

 private:
  /// A stream's track.
  struct Line {
    cudaStream_t stream;
    int ordinal;
    std::int64_t number;        ///< among the GPU's streams
    std::uint32_t file = 0;     ///< in which the track has a name,
    std::int64_t process = -1;  ///< and the process of the track there
    std::int64_t written = 0;   ///< the end of its last event
    Shared<ClockPair> clock{};  ///< of its last work,
    std::int64_t late = 0;      ///< and how much later that work was than by this clock, at least
    TimedQueue queued{};        ///< the first ends first
  };
  /// Makes the calling thread the one that collects, if there is none; waits for another one until `until`.
  class Collector {
   public:
    Collector(GpuTimeline& timeline, std::int64_t until) : timeline_(timeline) {
      while (!(collects_ = timeline.starts_to_collect()) && locus::detail::TraceFile::now() < until) usleep(50);
    }
    Collector(const Collector&) = delete;
    Collector& operator=(const Collector&) = delete;
    ~Collector() {
      if (!collects_) return;
      const Lock lock(timeline_.mutex_);
      timeline_.is_collecting_ = false;
    }
    [[nodiscard]] explicit operator bool() const { return collects_; }

   private:
    GpuTimeline& timeline_;
    bool collects_ = false;
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
  [[nodiscard]] static bool has_markers(TimedWork& work) noexcept {
    for (cudaEvent_t* const event : {&work.begin, &work.end})
      if (!*event) disregard(cudaEventCreate(event));
    return work.begin && work.end;
  }
  [[nodiscard]] bool is_time_to_look() {
    const Lock lock(mutex_);
    return ++begun_ % looks_at == 0 || queued_ >= most_queued;
  }
  /// Earlier work with its markers, or new one; null if too much waits.
  [[nodiscard]] TimedWork* unused(int ordinal) {
    const Lock lock(mutex_);
    if (queued_ >= most_queued) return nullptr;
    TimedWork*& first = unused_[ordinal];
    TimedWork* const work = first ? std::exchange(first, first->next) : new TimedWork{ordinal};
    ++queued_;
    return work;
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

  [[nodiscard]] bool starts_to_collect() {
    const Lock lock(mutex_);
    return !std::exchange(is_collecting_, true);
  }
  /// Writes completed work. `waits`: for work that still runs, at most `longest_wait` in all, and then drops it.
  LOCUS_COLD void collect(bool waits) noexcept try {
    if (process_ != getpid()) return;  // a fork cannot use the GPU
    const UncapturedCalls anything_goes;
    const std::int64_t until = waits ? locus::detail::TraceFile::now() + longest_wait : 0;
    const Collector collector(*this, until);
    if (!collector) return;
    take_marked();
    for (Line& line : lines_) {
      while (line.queued.first() && is_done(line.queued.first()->end, until)) {
        write(line, *line.queued.first());
        abandon(line.queued.pop());
      }
      while (waits && line.queued.first()) abandon(line.queued.pop());
    }
  } catch (const std::exception&) {}
  /// Adds marked work to the lines of its streams.
  void take_marked() {
    TimedQueue marked;
    {
      const Lock lock(mutex_);
      marked = std::exchange(marked_, {});
    }
    while (TimedWork* const work = marked.pop()) {
      try {
        line_of(*work).queued.push(work);
      } catch (const std::bad_alloc&) {
        abandon(work);
      }
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
  /// Work follows the work before it in its stream, also where the markers of two threads interleave. If the times are
  /// impossible by more than an error of the clock's comparison, it has no event.
  void write(Line& line, const TimedWork& work) {
    auto& file = locus::detail::TraceFile::instance();
    std::int64_t begin = work.clock->host_time(work.begin), end = work.clock->host_time(work.end);
    if (begin < 0 || end < 0 || end > file.now() + GpuClock::most_error) return;
    const std::int64_t late = correction(line, work, begin);
    begin += late;
    end += late;
    if (begin < line.written) begin = line.written;
    if (late > GpuClock::most_error || begin >= end) return;
    line.written = end;
    locus::detail::TraceText event;
    file.add(locus::detail::end_event(event.add(work.event), track_of(line, work.process), begin, end));
  }
  /// The error of the work's clock as far as it shows, which events are moved by, so that they keep their durations:
  /// work begins after its call, and the first work by this clock after the work before it.
  [[nodiscard]] static std::int64_t correction(Line& line, const TimedWork& work, std::int64_t begin) {
    if (!(line.clock == work.clock)) {
      const std::int64_t overlap = line.written - begin;
      line.clock = work.clock;
      line.late = 0 < overlap && overlap <= GpuClock::longest_try ? overlap : 0;
    }
    if (line.late < work.called - begin) line.late = work.called - begin;
    return line.late;
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
  std::size_t begun_ = 0, queued_ = 0;  ///< work so far, and work between begin() and its event
  bool is_collecting_ = false;
  TimedQueue marked_;                    ///< work with an end that no thread has collected yet
  TimedWork* unused_[max_devices] = {};  ///< lists of work that was written, for its markers
  GpuClock clocks_[max_devices];
  std::vector<Line> lines_;  ///< of the thread that collects, without the mutex
};

}}}  // namespace locus::LOCUS_ABI::cuda
