#pragma once
// Text from outside the program, such as the contents of a file, made printable for messages.

#include <locus/core/config.hpp>

#include <cstddef>
#include <string>
#include <string_view>

namespace locus { inline namespace LOCUS_ABI { namespace detail {

/// The front of a text, at most about `most` characters, in printable ASCII: newlines and tabs become \n and \t, other
/// control characters and bytes from 0x7f on hexadecimal escapes such as \x1b and \xc3. "..." marks a cut.
[[nodiscard]] inline std::string printable(std::string_view text, std::size_t most = 80) {
  constexpr const char* digits = "0123456789abcdef";
  std::string result;
  for (const char c : text) {
    if (result.size() >= most) return result += "...";
    const auto byte = static_cast<unsigned char>(c);
    if (byte >= 0x20 && byte < 0x7f) result += c;
    else if (c == '\n') result += "\\n";
    else if (c == '\t') result += "\\t";
    else ((result += "\\x") += digits[byte / 16]) += digits[byte % 16];
  }
  return result;
}

/// Collects a list for a message: the first eight names in quotation marks, and how many more there are.
class NameList {
 public:
  void add(std::string_view name) {
    if (++count_ <= most) text_ += (count_ > 1 ? ", '" : "'") + printable(name) + "'";
  }
  [[nodiscard]] std::string text() const {
    if (count_ == 0) return "none";
    return count_ <= most ? text_ : text_ + " and " + std::to_string(count_ - most) + " more";
  }

 private:
  static constexpr std::size_t most = 8;
  std::string text_;
  std::size_t count_ = 0;
};

}}}  // namespace locus::LOCUS_ABI::detail
