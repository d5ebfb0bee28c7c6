#pragma once
// The options of the matmul benchmark. CLI11, which reads them, is compiled in matmul_options.cpp alone.

#include <cstdint>
#include <string>
#include <vector>

struct MatmulOptions {
  std::vector<std::int64_t> sizes{64, 128, 256, 512, 1024, 2048, 4096};
  std::vector<std::string> dtypes{"f32", "tf32", "bf16", "f64"};
  std::string device = "auto";  ///< cpu, cuda, cuda:N, auto or both
  double min_seconds = 0.25;    ///< of each measurement
  int threads = 0;              ///< on the host; 0: as the library chooses
  std::string from;             ///< results to show, in place of measuring
  std::string json, plot;       ///< files to write

  bool finished = false;  ///< --help was answered, or an option was wrong
  int exit_code = 0;

  MatmulOptions(int argc, char** argv);
};
