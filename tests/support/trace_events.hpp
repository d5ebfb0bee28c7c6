#pragma once
// Traces of LOCUS_TRACE=json, checked by trace_events.py.

#include <locus/core/check.hpp>

#include <cstdio>
#include <cstdlib>
#include <string>

namespace locus_test {

/// Whether trace_events.py can run: it needs Python 3.
[[nodiscard]] inline bool traces_can_be_checked() { return std::system("python3 -c 'import json' 2>/dev/null") == 0; }

/// The output of trace_events.py: a line for each category of events and each track, or faults after "faults:".
[[nodiscard]] inline std::string checked_trace(const std::string& path, const char* option = "") {
  const char* const tests = std::getenv("LOCUS_TEST_DIR");
  const std::string command =
      locus::join("python3 '", tests ? tests : "tests", "/support/trace_events.py' ", option, " '", path, "' 2>&1");
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
