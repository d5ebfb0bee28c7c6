#pragma once
// Validation of UTF-8, for the reader and the writers of text formats.

#include <locus/core/config.hpp>

#include <cstddef>
#include <string>
#include <string_view>

namespace locus { inline namespace LOCUS_ABI { namespace io {

inline constexpr std::string_view replacement_character = "\xEF\xBF\xBD";  ///< U+FFFD, in place of invalid bytes

/// Number of bytes of the first character; 0 if it is not valid UTF-8 (as overlong forms and surrogates are not).
[[nodiscard]] constexpr std::size_t utf8_length(std::string_view text) {
  const auto byte = [&](std::size_t i) { return i < text.size() ? static_cast<unsigned char>(text[i]) : 0u; };
  const auto follows = [&](std::size_t i) { return (byte(i) & 0xC0u) == 0x80u; };
  const unsigned lead = byte(0), next = byte(1);
  if (lead < 0x80) return 1;
  if (lead >= 0xC2 && lead <= 0xDF) return follows(1) ? 2 : 0;
  if (lead >= 0xE0 && lead <= 0xEF) {
    const bool allowed = (lead != 0xE0 || next >= 0xA0) && (lead != 0xED || next < 0xA0);
    return allowed && follows(1) && follows(2) ? 3 : 0;
  }
  if (lead >= 0xF0 && lead <= 0xF4) {
    const bool allowed = (lead != 0xF0 || next >= 0x90) && (lead != 0xF4 || next < 0x90);
    return allowed && follows(1) && follows(2) && follows(3) ? 4 : 0;
  }
  return 0;
}

[[nodiscard]] constexpr bool is_utf8(std::string_view text) {
  while (!text.empty()) {
    const std::size_t length = utf8_length(text);
    if (length == 0) return false;
    text.remove_prefix(length);
  }
  return true;
}

/// Number of bytes that one U+FFFD replaces at the begin of a text that is no character: as many as begin one, as
/// Unicode recommends and Python does.
[[nodiscard]] constexpr std::size_t utf8_replaced(std::string_view text) {
  const auto byte = [&](std::size_t i) { return i < text.size() ? static_cast<unsigned char>(text[i]) : 0u; };
  const unsigned lead = byte(0), next = byte(1);
  if (lead < 0xE0 || lead > 0xF4) return 1;
  const unsigned least = lead == 0xE0 ? 0xA0 : lead == 0xF0 ? 0x90 : 0x80;
  const unsigned most = lead == 0xED ? 0x9F : lead == 0xF4 ? 0x8F : 0xBF;
  if (next < least || next > most) return 1;
  return lead >= 0xF0 && byte(2) >= 0x80 && byte(2) <= 0xBF ? 3 : 2;
}

/// The text with U+FFFD in place of bytes that are not UTF-8: bytes.decode(errors="replace") of Python.
[[nodiscard]] inline std::string utf8_with_replacements(std::string_view text) {
  std::string result;
  while (!text.empty()) {
    const std::size_t length = utf8_length(text);
    if (length > 0) result += text.substr(0, length);
    else result += replacement_character;
    text.remove_prefix(length > 0 ? length : utf8_replaced(text));
  }
  return result;
}

}}}  // namespace locus::LOCUS_ABI::io
