#pragma once
// LOCUS_TRACE: traces of launches and copies on a GPU.

#include <locus/cuda/gpu_timeline.hpp>
#include <locus/cuda/stream.hpp>
#include <locus/device/trace/launch_trace.hpp>

namespace locus { inline namespace LOCUS_ABI { namespace cuda {

/// A launch; from begin() to end(), which waits for it, unless a step is being captured. Costs next to nothing where
/// launches are not observed.
class LaunchTrace {
 public:
  explicit LaunchTrace(Context& context) : context_(context) {}
  LaunchTrace(const LaunchTrace&) = delete;
  LaunchTrace& operator=(const LaunchTrace&) = delete;
  ~LaunchTrace() {
    if (launch_) [[unlikely]]
      leave(launch_);
  }

  LOCUS_COLD void begin(const locus::detail::LaunchDescription& description) {
    launch_ = new Launch{description, locus::detail::launch_ranges.load(locus::Order::relaxed),
                         locus::detail::TraceFile::now()};
    if (locus::detail::launches_are_events()) launch_->work = GpuTimeline::instance().begin(context_);
    if (launch_->ranges) push_range(*launch_->ranges, description);
    if (!launches_are_traced() || context_.captured_step()) return;
    for (cudaEvent_t* event : {&launch_->begin, &launch_->end}) check(cudaEventCreate(event), "cudaEventCreate");
    check(cudaEventRecord(launch_->begin, context_.stream()), "cudaEventRecord");
  }
  /// After the launch of `blocks` blocks of `threads` threads; 0: not known.
  void end(unsigned blocks = 0, unsigned threads = 0) {
    if (launch_) [[unlikely]]
      print(blocks, threads);
  }

 private:
  struct Launch {
    locus::detail::LaunchDescription description;
    const locus::detail::LaunchRanges* ranges;
    std::int64_t called;
    TimedWork* work = nullptr;  ///< as an event of its stream
    cudaEvent_t begin = nullptr, end = nullptr;
  };

  LOCUS_COLD void print(unsigned blocks, unsigned threads) {
    launch_->description.blocks = blocks;
    launch_->description.threads = threads;
    if (locus::detail::launches_are_events()) add_events();
    if (!launches_are_traced()) return;
    float milliseconds = -1;
    if (launch_->begin) {
      check(cudaEventRecord(launch_->end, context_.stream()), "cudaEventRecord");
      check(cudaEventSynchronize(launch_->end), "cudaEventSynchronize");
      check(cudaEventElapsedTime(&milliseconds, launch_->begin, launch_->end), "cudaEventElapsedTime");
    }
    const std::string device = join(to_string(Cuda{context_.ordinal()}), launch_->begin ? "" : " (captured)");
    locus::detail::print_launch(device.c_str(), launch_->description, static_cast<double>(milliseconds) * 1e-3,
                                peak_bandwidth());
  }
  /// The host's call, and the work, which may run later.
  LOCUS_COLD void add_events() {
    const std::string device = to_string(Cuda{context_.ordinal()});
    if (launch_->work)
      GpuTimeline::instance().end(std::exchange(launch_->work, nullptr), event_of(launch_->description, device, "gpu"));
    auto& file = locus::detail::TraceFile::instance();
    const std::int64_t end = locus::detail::TraceFile::now();
    auto event = event_of(launch_->description, device);
    file.add(locus::detail::end_event(event, file.here(), launch_->called, end));
    file.count_memory(1 + context_.ordinal(), device, DeviceMemory::of(context_.ordinal()).stats().allocated_bytes);
  }
  LOCUS_COLD static void leave(const Launch* launch) noexcept {
    if (launch->work) GpuTimeline::instance().abandon(launch->work);
    if (launch->ranges) launch->ranges->pop();
    for (cudaEvent_t event : {launch->begin, launch->end})
      if (event) disregard(cudaEventDestroy(event));
    delete launch;
  }

  /// Bytes per second: two transfers per clock, as in all current memories of GPUs.
  [[nodiscard]] double peak_bandwidth() const {
    const int kilohertz = context_.attribute(cudaDevAttrMemoryClockRate);
    const int bits = context_.attribute(cudaDevAttrGlobalMemoryBusWidth);
    return 2. * 1e3 * static_cast<double>(kilohertz) * static_cast<double>(bits) / 8;
  }

  Context& context_;
  Launch* launch_ = nullptr;
};

/// A copy that a call queues in a context's stream, for the life of this object: an event of the call, with its
/// waiting, and an event of the copy.
class CopyTrace {
 public:
  CopyTrace(const Context& context, const char* name, std::size_t bytes) : ordinal_(context.ordinal()), bytes_(bytes) {
    if (locus::detail::launches_are_events()) [[unlikely]]
      begin(context, name);
  }
  CopyTrace(const CopyTrace&) = delete;
  CopyTrace& operator=(const CopyTrace&) = delete;
  ~CopyTrace() {
    if (name_) [[unlikely]]
      finish();
  }
  /// The copy is queued.
  void queued() {
    if (work_) [[unlikely]]
      GpuTimeline::instance().end(std::exchange(work_, nullptr), event("gpu"));
  }

 private:
  LOCUS_COLD void begin(const Context& context, const char* name) {
    name_ = name;
    called_ = locus::detail::TraceFile::now();
    work_ = GpuTimeline::instance().begin(context);
  }
  LOCUS_COLD void finish() noexcept {
    if (work_) GpuTimeline::instance().abandon(work_);
    auto& file = locus::detail::TraceFile::instance();
    locus::detail::TraceText call = event("copy");
    file.add(locus::detail::end_event(call, file.here(), called_, locus::detail::TraceFile::now()));
  }
  [[nodiscard]] LOCUS_COLD locus::detail::TraceText event(const char* category) const {
    locus::detail::TraceText text = locus::detail::event_named(name_, category);
    text.add(",\"args\":{\"device\":\"cuda:").add(std::int64_t{ordinal_}).add("\",\"bytes\":");
    text.add(static_cast<std::int64_t>(bytes_)).add('}');
    return text;
  }

  int ordinal_;
  std::size_t bytes_;
  const char* name_ = nullptr;  ///< null: not traced
  std::int64_t called_ = 0;
  TimedWork* work_ = nullptr;
};

}}}  // namespace locus::LOCUS_ABI::cuda
