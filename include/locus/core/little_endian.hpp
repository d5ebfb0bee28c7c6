#pragma once
// Little-endian numbers in texts, as formats of files hold them.

#include <locus/core/config.hpp>

#include <cstdint>
#include <string>
#include <string_view>

namespace locus { inline namespace LOCUS_ABI { namespace io::detail {

/// Reads the number of 1 to 8 bytes that begins at `at`; the text must have them.
[[nodiscard]] inline std::uint64_t number_at(std::string_view text, std::size_t at, int bytes) {
  std::uint64_t number = 0;
  for (int i = bytes; i-- > 0;)
    number = number << 8 | static_cast<unsigned char>(text[at + static_cast<std::size_t>(i)]);
  return number;
}
/// Appends the low bytes of a number.
inline void append_number(std::string& text, std::uint64_t number, int bytes) {
  for (int i = 0; i < bytes; ++i) text += static_cast<char>(number >> 8 * i & 0xff);
}

}}}  // namespace locus::LOCUS_ABI::io::detail
