#pragma once
// Files of /proc and /sys, and the name of the processor.

#include <locus/core/config.hpp>

#include <cstdio>
#include <string>
#include <string_view>

namespace locus { inline namespace LOCUS_ABI { namespace detail {

/// The bytes of a small file of /proc or /sys; empty if it cannot be read.
[[nodiscard]] LOCUS_COLD inline std::string text_of_proc(const char* path) {
  std::string text;
  if (std::FILE* const file = std::fopen(path, "r")) {
    char part[4096];
    for (std::size_t count = 0; (count = std::fread(part, 1, sizeof part, file)) > 0;) text.append(part, count);
    (void)std::fclose(file);
  }
  return text;
}
/// Calls f(line) for each line of a text, without its newline.
template <class F>
void for_lines(std::string_view text, const F& f) {
  while (!text.empty()) {
    const std::size_t newline = text.find('\n'), length = newline < text.size() ? newline : text.size();
    f(text.substr(0, length));
    text.remove_prefix(newline < text.size() ? length + 1 : length);
  }
}
/// Name of the processor in the text of /proc/cpuinfo; empty if it has none, as on Arm.
[[nodiscard]] inline std::string processor_in(std::string_view cpuinfo) {
  const std::size_t line = cpuinfo.find("model name");
  if (line == std::string_view::npos) return "";
  const std::size_t begin = cpuinfo.find(": ", line), end = cpuinfo.find('\n', line);
  return begin < end ? std::string(cpuinfo.substr(begin + 2, end - begin - 2)) : "";
}
/// Version of NVIDIA's driver in the text of /proc/driver/nvidia/version, its first word of digits and dots:
/// "580.65.06". Empty if there is none.
[[nodiscard]] inline std::string driver_in(std::string_view text) {
  constexpr std::string_view digits = "0123456789.";
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t found = text.find_first_of(" \n", begin), end = found < text.size() ? found : text.size();
    const std::string_view word = text.substr(begin, end - begin);
    if (!word.empty() && word.find_first_not_of(digits) == std::string_view::npos) return std::string(word);
    begin = end + 1;
  }
  return "";
}

}}}  // namespace locus::LOCUS_ABI::detail
