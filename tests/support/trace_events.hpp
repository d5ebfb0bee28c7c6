#pragma once
// Traces of LOCUS_TRACE=json, checked by trace_events.py.

#include <locus/core/check.hpp>

#include <cstdio>
#include <cstdlib>
#include <string>

namespace locus_test {

/// The command that runs trace_events.py.
[[nodiscard]] inline std::string trace_checker() {
  const char* const tests = std::getenv("LOCUS_TEST_DIR");
  const std::string here = __FILE__;
  return locus::join("python3 '", tests ? tests + std::string("/support") : here.substr(0, here.rfind('/')),
                     "/trace_events.py' ");
}
/// Whether it can run: Python 3 and the file are here.
[[nodiscard]] inline bool traces_can_be_checked() {
  return std::system((trace_checker() + "--help >/dev/null 2>&1").c_str()) == 0;
}

/// The output of trace_events.py: a line for each category of events and each track, or faults after "faults:".
[[nodiscard]] inline std::string checked_trace(const std::string& path, const char* option = "") {
  const std::string command = locus::join(trace_checker(), option, " '", path, "' 2>&1");
  std::FILE* const output = popen(command.c_str(), "r");
  std::string text;
  char line[1024];
  while (output && std::fgets(line, sizeof line, output)) text += line;
  const bool is_sound = output && pclose(output) == 0;
  return is_sound ? text : "faults: " + text;
}
/// How many events of a category checked_trace() counts.
[[nodiscard]] inline int count_of(const std::string& checked, const std::string& category) {
  const std::size_t at = ("\n" + checked).find("\n" + category + ": ");
  return at == std::string::npos ? 0 : std::atoi(checked.c_str() + at + category.size() + 2);
}

}  // namespace locus_test
