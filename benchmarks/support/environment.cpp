#include "environment.hpp"

#include <cstdio>
#include <ctime>
#include <fstream>

#include <unistd.h>

#ifndef LOCUS_SOURCE_DIR  // whose commit a result names
#define LOCUS_SOURCE_DIR "."
#endif

namespace {

std::string first_line_of(const std::string& command) {
  std::FILE* pipe = popen(command.c_str(), "r");
  if (!pipe) return "";
  char line[256] = "";
  const bool read = std::fgets(line, sizeof line, pipe) != nullptr;
  const int status = pclose(pipe);
  std::string text = read && status == 0 ? line : "";
  while (!text.empty() && text.back() == '\n') text.pop_back();
  return text;
}

std::string cpu_name() {
  std::ifstream info("/proc/cpuinfo");
  for (std::string line; std::getline(info, line);) {
    if (line.starts_with("model name") && line.find(": ") != std::string::npos) return line.substr(line.find(": ") + 2);
  }
  return "unknown";
}

}  // namespace

Environment host_environment() {
  Environment environment;
  const std::time_t now = std::time(nullptr);
  char date[32];
  if (std::strftime(date, sizeof date, "%Y-%m-%dT%H:%M:%SZ", std::gmtime(&now))) environment.date = date;
  environment.commit = first_line_of("git -C '" LOCUS_SOURCE_DIR "' describe --always --dirty 2>/dev/null");
#if defined(__clang__)
  environment.compiler = "clang " __clang_version__;
#else
  environment.compiler = "g++ " __VERSION__;
#endif
  environment.cpu = cpu_name();
  environment.cores = static_cast<int>(sysconf(_SC_NPROCESSORS_ONLN));
  return environment;
}
