#pragma once
// The text of one event of a trace.

#include <locus/device/trace/trace_text.hpp>

namespace locus { inline namespace LOCUS_ABI { namespace detail {

/// A row of a trace: in Perfetto, a thread of a process.
struct TraceTrack {
  std::int64_t process = 0, thread = 0;
};
LOCUS_COLD inline TraceText& operator<<(TraceText& text, TraceTrack track) {
  return text.add(",\"pid\":").add(track.process).add(",\"tid\":").add(track.thread);
}

/// Begins an event: `{"name":"...","cat":"..."`. The rest is the caller's.
LOCUS_COLD inline TraceText event_named(std::string_view name, std::string_view category) {
  TraceText event;
  event.add("{\"name\":\"").add_plain(name).add("\",\"cat\":\"").add(category).add('"');
  return event;
}
/// Ends an event that lasts from `start` to `end`, in nanoseconds.
LOCUS_COLD inline TraceText& end_event(TraceText& event, TraceTrack track, std::int64_t start, std::int64_t end) {
  (event.add(",\"ph\":\"X\"") << track).add(",\"ts\":").add_microseconds(start);
  return event.add(",\"dur\":").add_microseconds(end > start ? end - start : 0).add('}');
}
/// Metadata of a track or its process: process_name, thread_name, ...
LOCUS_COLD inline TraceText event_about(const char* key, TraceTrack track, std::string_view name) {
  TraceText event;
  (event.add("{\"name\":\"").add(key).add("\",\"ph\":\"M\"") << track).add(",\"args\":{\"name\":\"");
  event.add_plain(name).add("\"}}");
  return event;
}
/// The position of a track, or of its process, among others: thread_sort_index, process_sort_index.
LOCUS_COLD inline TraceText event_about(const char* key, TraceTrack track, std::int64_t index) {
  TraceText event;
  (event.add("{\"name\":\"").add(key).add("\",\"ph\":\"M\"") << track).add(",\"args\":{\"sort_index\":");
  event.add(index).add("}}");
  return event;
}

}}}  // namespace locus::LOCUS_ABI::detail
