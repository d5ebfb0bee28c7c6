#pragma once
// Text in memory of a fixed size, for traces and messages.
//
// Headers of traces are part of every program, so they keep to members that g++ compiles cheaply: a call
// add({pointer, 1}), which makes a std::string_view of two types, would cost 2 MB of its memory for concepts of
// iterators.

#include <locus/core/config.hpp>

#include <cstdint>
#include <cstring>
#include <string_view>

namespace locus { inline namespace LOCUS_ABI { namespace detail {

/// A text of bounded length; truncated beyond it. Long enough for a path, and for twice the longest event.
class TraceText {
 public:
  TraceText() { text_[0] = '\0'; }
  [[nodiscard]] std::string_view view() const { return {text_, size_}; }
  [[nodiscard]] const char* c_str() const { return text_; }
  [[nodiscard]] bool is_full() const { return size_ == most; }

  LOCUS_COLD TraceText& add(const char* text, std::size_t size) {
    if (size > most - size_) size = most - size_;
    std::memcpy(text_ + size_, text, size);
    text_[size_ += size] = '\0';
    return *this;
  }
  TraceText& add(std::string_view text) { return add(text.data(), text.size()); }
  TraceText& add(char character) { return add(&character, 1); }
  LOCUS_COLD TraceText& add(std::int64_t number) {
    char digits[20];
    std::size_t begin = sizeof digits;
    auto rest = number < 0 ? 0 - static_cast<std::uint64_t>(number) : static_cast<std::uint64_t>(number);
    do digits[--begin] = static_cast<char>('0' + rest % 10);
    while ((rest /= 10) != 0);
    if (number < 0) add('-');
    return add(digits + begin, sizeof digits - begin);
  }
  /// As the content of a JSON string: characters that would need an escape become '_'.
  LOCUS_COLD TraceText& add_plain(std::string_view text) {
    for (const char each : text) {
      const auto c = static_cast<unsigned char>(each);
      add(c < 0x20 || c > 0x7e || c == '"' || c == '\\' ? '_' : each);
    }
    return *this;
  }
  /// Microseconds with three decimals. Not negative.
  LOCUS_COLD TraceText& add_microseconds(std::int64_t nanoseconds) {
    const auto decimals = static_cast<int>(nanoseconds % 1000);
    const char digits[] = {'.', static_cast<char>('0' + decimals / 100), static_cast<char>('0' + decimals / 10 % 10),
                           static_cast<char>('0' + decimals % 10)};
    return add(nanoseconds / 1000).add(digits, sizeof digits);
  }
  /// LeakyRelu -> leaky_relu
  LOCUS_COLD TraceText& add_in_snake_case(std::string_view name) {
    for (std::size_t i = 0; i < name.size(); ++i) {
      const bool upper = name[i] >= 'A' && name[i] <= 'Z';
      if (upper && i > 0) add('_');
      add(upper ? static_cast<char>(name[i] - 'A' + 'a') : name[i]);
    }
    return *this;
  }
  /// Drops the end beyond `size` characters.
  void cut(std::size_t size) {
    if (size < size_) text_[size_ = size] = '\0';
  }

 private:
  static constexpr std::size_t most = 4095;
  std::size_t size_ = 0;
  char text_[most + 1];
};

}}}  // namespace locus::LOCUS_ABI::detail
