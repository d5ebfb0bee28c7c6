#pragma once
// On what a benchmark ran.

#include <string>

struct Environment {
  std::string date;      ///< UTC
  std::string commit;    ///< as git describes it; empty where git does not answer
  std::string compiler;  ///< of the host
  std::string cpu;
  int cores = 0;
  int threads = 0;
  std::string gpu;   ///< empty: none
  std::string cuda;  ///< toolkit the program was built with; empty: none
  int driver = 0;    ///< newest CUDA that the driver knows, as 1000 * major + 10 * minor
};

/// All of it that the host knows.
[[nodiscard]] Environment host_environment();
