#pragma once
// The line of the program from which Locus was called, for diagnostics of its use.

#include <locus/core/check.hpp>

#include <dlfcn.h>
#include <execinfo.h>
#include <unistd.h>

#include <array>
#include <cstdint>
#include <cstdlib>
#include <cstring>

namespace locus { inline namespace LOCUS_ABI { namespace cuda {

/// The return addresses of the calling thread. Their source lines are looked up when somebody asks: by addr2line
/// (binutils), from the program's debug information.
class CallSite {
 public:
  CallSite() = default;
  [[nodiscard]] LOCUS_OUT_OF_LINE static CallSite here() {
    CallSite site;
    site.count_ = ::backtrace(site.frames_.data(), static_cast<int>(site.frames_.size()));
    return site;
  }

  /// "example.cpp:12": the innermost call outside of Locus's headers. Without debug information, the function, and the
  /// remedy.
  [[nodiscard]] LOCUS_OUT_OF_LINE std::string text() const {
    bool is_in_locus = false;  // the innermost frames may be a sanitizer's, which replaces backtrace()
    for (int first = 0, last = 0; first < count_; first = last) {
      Dl_info module{};
      if (!::dladdr(at(first), &module)) return nowhere();
      for (last = first + 1; last < count_ && is_in(module, last);) ++last;
      if (std::string found = first_of_program(addresses(module, first, last), is_in_locus); !found.empty())
        return found;
    }
    return nowhere();
  }

 private:
  [[nodiscard]] static std::string nowhere() {
    return "a line that is not known: compile with -g, and install addr2line (binutils)";
  }
  /// An address within the call, before the return address.
  [[nodiscard]] const char* at(int frame) const {
    return static_cast<const char*>(frames_[static_cast<std::size_t>(frame)]) - 1;
  }
  [[nodiscard]] bool is_in(const Dl_info& module, int frame) const {
    Dl_info other{};
    return ::dladdr(at(frame), &other) && other.dli_fbase == module.dli_fbase;
  }

  /// The command that prints the lines of frames of one module; inlined calls come before their callers.
  [[nodiscard]] std::string addresses(const Dl_info& module, int first, int last) const {
    if (!module.dli_fname || std::strchr(module.dli_fname, '\'')) return {};
    const auto* const base = static_cast<const char*>(module.dli_fbase);
    std::uint16_t type = 0;  // of the ELF file: 2 is loaded at the addresses that are in it
    std::memcpy(&type, base + 16, sizeof type);
    std::string command = "addr2line -Cfpi -e '" + executable(module.dli_fname) + "'";
    for (int i = first; i < last; ++i) {
      char text[32];
      std::snprintf(text, sizeof text, " %#zx", static_cast<std::size_t>(at(i) - (type == 2 ? nullptr : base)));
      command += text;
    }
    return command + " 2>/dev/null";
  }
  /// The program's own name may be relative to a folder that it has left.
  [[nodiscard]] static std::string executable(const char* name) {
    return std::strchr(name, '/') && name[0] == '/' ? std::string(name)
                                                    : "/proc/" + std::to_string(::getpid()) + "/exe";
  }

  /// The first line of the program after one of Locus; `is_in_locus`: whether there was one.
  [[nodiscard]] static std::string first_of_program(const std::string& command, bool& is_in_locus) {
    FILE* const lines = command.empty() ? nullptr : ::popen(command.c_str(), "r");
    if (!lines) return {};
    std::string found;
    for (std::string line; next(lines, line);)
      if (is_locus(line)) is_in_locus = true;
      else if (is_in_locus && found.empty()) found = of_program(line);
    ::pclose(lines);
    return found;
  }
  [[nodiscard]] static bool next(FILE* lines, std::string& line) {
    line.clear();
    int c = 0;
    while ((c = std::fgetc(lines)) != EOF && c != '\n') line += static_cast<char>(c);
    return c != EOF || !line.empty();
  }

  /// Whether a line of addr2line, "FUNCTION at FILE:LINE", is in a header of Locus.
  [[nodiscard]] static bool is_locus(const std::string& line) {
    const std::size_t place = line.rfind(" at ");
    if (place == std::string::npos) return false;
    if (line.compare(place + 4, 2, "??") == 0) return name_of(line.substr(0, place)).starts_with("locus::");
    return line.find("include/locus/", place) != std::string::npos ||
           line.find("cuda_kernels/locus/", place) != std::string::npos;
  }
  /// A line of addr2line as this class gives it; empty for a line within a library.
  [[nodiscard]] static std::string of_program(const std::string& line) {
    constexpr std::string_view inlined = " (inlined by) ";
    const std::size_t begin = line.starts_with(inlined) ? inlined.size() : 0, end = line.rfind(" at ");
    if (end == std::string::npos || end < begin) return {};
    const std::string function = name_of(line.substr(begin, end - begin));
    std::string place = line.substr(end + 4);
    if (const auto remark = place.find(" (discriminator"); remark != std::string::npos) place.resize(remark);
    if (place.starts_with("??")) {
      if (function.empty() || function == "??" || function.starts_with("_") || function.starts_with("std::")) return {};
      return function + " (compile with -g for its line)";
    }
    return place.find("/include/c++/") == std::string::npos ? place : "";
  }
  /// The function's qualified name, without its result, template arguments and parameters.
  [[nodiscard]] static std::string name_of(std::string function) {
    constexpr std::string_view unnamed = "(anonymous namespace)::";
    for (std::size_t at; (at = function.find(unnamed)) != std::string::npos;) function.erase(at, unnamed.size());
    std::string name;
    int depth = 0;
    for (const char c : function) {
      if (depth == 0 && name == "decltype") name.clear();  // of a result
      if (depth == 0 && c == '(' && !name.empty()) break;
      if (c == '<' || c == '(' || c == '{' || c == '[') ++depth;
      else if (c == '>' || c == ')' || c == '}' || c == ']') depth -= depth > 0;
      else if (depth == 0 && c == ' ') name.clear();
      else if (depth == 0) name += c;
    }
    while (name.ends_with(':')) name.pop_back();
    return name;
  }

  std::array<void*, 48> frames_{};
  int count_ = 0;
};

}}}  // namespace locus::LOCUS_ABI::cuda
