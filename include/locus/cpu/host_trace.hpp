#pragma once
// LOCUS_TRACE: traces of launches on the host.

#include <locus/cpu/memory.hpp>
#include <locus/device/trace/launch_trace.hpp>

namespace locus { inline namespace LOCUS_ABI { namespace detail {

/// A launch on the host, timed from begin() to destruction. Almost free without begin().
class HostTrace {
 public:
  HostTrace() = default;
  HostTrace(const HostTrace&) = delete;
  HostTrace& operator=(const HostTrace&) = delete;
  ~HostTrace() {
    if (launch_) [[unlikely]]
      end(launch_);
  }
  LOCUS_COLD void begin(const LaunchDescription& launch) {
    const LaunchRanges* const ranges = launch_ranges.load(Order::relaxed);
    if (ranges) push_range(*ranges, launch);
    launch_ = new Launch{launch, ranges, TraceFile::now()};
  }

 private:
  struct Launch {
    LaunchDescription description;
    const LaunchRanges* ranges;
    std::int64_t start;
  };
  LOCUS_COLD static void end(const Launch* launch) noexcept {
    const std::int64_t end = TraceFile::now();
    if (launch->ranges) launch->ranges->pop();
    if (launches_are_traced())
      print_launch("cpu", launch->description, 1e-9 * static_cast<double>(end - launch->start));
    if (launches_are_events()) {
      auto& file = TraceFile::instance();
      TraceText event = event_of(launch->description, "cpu");
      file.add(end_event(event, file.here(), launch->start, end));
      file.count_memory(0, "cpu", cpu::MemoryPool::instance().stats().allocated_bytes);
    }
    delete launch;
  }

  const Launch* launch_ = nullptr;
};

}}}  // namespace locus::LOCUS_ABI::detail
