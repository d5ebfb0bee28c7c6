#pragma once
// Environment variables of Locus: an unexpected value is an error.

#include <locus/core/check.hpp>
#include <locus/core/printable.hpp>

#include <cstdint>
#include <cstdlib>
#include <string_view>

namespace locus { inline namespace LOCUS_ABI { namespace detail {

/// Text of the variable; empty if it is not set.
[[nodiscard]] inline std::string_view environment(const char* variable) {
  const char* const text = std::getenv(variable);
  return text ? text : "";
}

/// 1 or 0; `otherwise` where it is not set. throws ArgumentError for anything else
[[nodiscard]] LOCUS_OUT_OF_LINE inline bool switch_from_environment(const char* variable, bool otherwise) {
  const std::string_view text = environment(variable);
  if (text.empty()) return otherwise;
  if (text != "0" && text != "1") fail<ArgumentError>({variable, " is \"", printable(text), "\"; expected 1, or 0"});
  return text == "1";
}

/// LOCUS_TRACE: "1" traces launches, "json" or "json:FILE" phases; "0" where it is not set. throws ArgumentError for
/// anything else
[[nodiscard]] LOCUS_OUT_OF_LINE inline std::string_view trace_from_environment() {
  const std::string_view text = environment("LOCUS_TRACE"), json = "json:";
  if (text.empty()) return "0";
  if (text != "0" && text != "1" && text != "json" && !(text.starts_with(json) && text.size() > json.size()))
    fail<ArgumentError>({"LOCUS_TRACE is \"", printable(text), "\"; expected 0, 1, json or json:FILE"});
  return text;
}

/// The number that a text of digits alone states; -1 for any other text, and for more than `most`, which is at most
/// 2^59.
[[nodiscard]] constexpr std::int64_t whole_number(std::string_view text, std::int64_t most = INT32_MAX) {
  std::int64_t number = text.empty() ? -1 : 0;
  for (const char digit : text) {
    if (digit < '0' || digit > '9') return -1;
    number = 10 * number + (digit - '0');
    if (number > most) return -1;
  }
  return number;
}
/// A whole number, `least` to `most`; -1 where it is not set. The second argument is its unit in messages.
/// throws ArgumentError for anything else
[[nodiscard]] LOCUS_OUT_OF_LINE inline int number_from_environment(const char* variable, const char* what,
                                                                   std::int64_t least, std::int64_t most) {
  const std::string_view text = environment(variable);
  if (text.empty()) return -1;
  const std::int64_t number = whole_number(text);
  if (number < least || number > most)
    fail<ArgumentError>(
        {variable, " is \"", printable(text), "\"; expected a number of ", what, ", ", least, " to ", most});
  return static_cast<int>(number);
}

/// Seconds above 0, without a unit; `otherwise` where it is not set. throws ArgumentError for anything else
[[nodiscard]] LOCUS_OUT_OF_LINE inline double seconds_from_environment(const char* variable, double otherwise) {
  const char* const text = std::getenv(variable);
  if (!text || !*text) return otherwise;
  char* end = nullptr;
  const double seconds = std::strtod(text, &end);
  if (end == text || *end || !(seconds > 0))
    fail<ArgumentError>(
        {variable, " is \"", printable(text), "\"; expected seconds above 0, as 60 or 0.5, without a unit"});
  return seconds;
}

}}}  // namespace locus::LOCUS_ABI::detail
