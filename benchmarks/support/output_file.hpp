#pragma once
// Output files of a benchmark.

#include <string>

#include <unistd.h>

/// Empty if the file can be written, else an error message; checked before the measurements.
[[nodiscard]] inline std::string check_target(const std::string& path) {
  const auto slash = path.find_last_of('/');
  const std::string folder = slash == std::string::npos ? "." : path.substr(0, slash + 1);
  if (path.empty() || path.back() == '/') return "expected the name of a file, not of a folder";
  if (access(folder.c_str(), F_OK) != 0) return "there is no folder '" + folder + "'; create it or choose another";
  if (access(path.c_str(), F_OK) == 0 && access(path.c_str(), W_OK) != 0) return "'" + path + "' may not be written to";
  return access(folder.c_str(), W_OK) == 0 ? "" : "the folder '" + folder + "' may not be written to";
}
