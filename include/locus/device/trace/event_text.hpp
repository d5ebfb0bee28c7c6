#pragma once
// The text of one event of a trace, in memory of a fixed size.

#include <locus/core/config.hpp>

#include <cstdint>
#include <cstring>
#include <string_view>

namespace locus { inline namespace LOCUS_ABI { namespace detail {

/// Text of bounded length. The longest event, of an expression of 512 characters, fits twice.
class EventText {
 public:
  [[nodiscard]] std::string_view view() const { return {text_, size_}; }

  LOCUS_COLD EventText& add(std::string_view text) {
    const std::size_t room = sizeof text_ - size_, count = text.size() < room ? text.size() : room;
    std::memcpy(text_ + size_, text.data(), count);
    size_ += count;
    return *this;
  }
  LOCUS_COLD EventText& add(std::int64_t number) {
    char digits[20];
    std::size_t begin = sizeof digits;
    auto rest = number < 0 ? 0 - static_cast<std::uint64_t>(number) : static_cast<std::uint64_t>(number);
    do digits[--begin] = static_cast<char>('0' + rest % 10);
    while ((rest /= 10) != 0);
    if (number < 0) add("-");
    return add({digits + begin, sizeof digits - begin});
  }
  /// As the content of a JSON string: characters that would need an escape become '_'.
  LOCUS_COLD EventText& add_plain(std::string_view text) {
    for (const char each : text) {
      const auto c = static_cast<unsigned char>(each);
      const char plain = c < 0x20 || c > 0x7e || c == '"' || c == '\\' ? '_' : each;
      add({&plain, 1});
    }
    return *this;
  }
  /// Microseconds with three decimals. Not negative.
  LOCUS_COLD EventText& add_microseconds(std::int64_t nanoseconds) {
    const auto decimals = static_cast<int>(nanoseconds % 1000);
    const char digits[] = {'.', static_cast<char>('0' + decimals / 100), static_cast<char>('0' + decimals / 10 % 10),
                           static_cast<char>('0' + decimals % 10)};
    return add(nanoseconds / 1000).add({digits, sizeof digits});
  }

 private:
  char text_[2048];
  std::size_t size_ = 0;
};

/// A row of a trace: in Perfetto, a thread of a process.
struct TraceTrack {
  std::int64_t process = 0, thread = 0;
};
inline EventText& operator<<(EventText& text, TraceTrack track) {
  return text.add(",\"pid\":").add(track.process).add(",\"tid\":").add(track.thread);
}

/// Begins an event: `{"name":"...","cat":"..."`. The rest is the caller's.
LOCUS_COLD inline EventText event_named(std::string_view name, std::string_view category) {
  EventText event;
  event.add("{\"name\":\"").add_plain(name).add("\",\"cat\":\"").add(category).add("\"");
  return event;
}
/// Ends an event that lasts from `start` to `end`, in nanoseconds.
LOCUS_COLD inline EventText& end_event(EventText& event, TraceTrack track, std::int64_t start, std::int64_t end) {
  (event.add(",\"ph\":\"X\"") << track).add(",\"ts\":").add_microseconds(start);
  return event.add(",\"dur\":").add_microseconds(end > start ? end - start : 0).add("}");
}
/// Metadata of a track or its process: process_name, thread_name, ...
LOCUS_COLD inline EventText event_about(const char* key, TraceTrack track, std::string_view name) {
  EventText event;
  (event.add("{\"name\":\"").add(key).add("\",\"ph\":\"M\"") << track).add(",\"args\":{\"name\":\"");
  event.add_plain(name).add("\"}}");
  return event;
}
/// The position of a track, or of its process, among others.
LOCUS_COLD inline EventText event_about(const char* key, TraceTrack track, std::int64_t index) {
  EventText event;
  (event.add("{\"name\":\"").add(key).add("\",\"ph\":\"M\"") << track).add(",\"args\":{\"sort_index\":");
  event.add(index).add("}}");
  return event;
}

}}}  // namespace locus::LOCUS_ABI::detail
