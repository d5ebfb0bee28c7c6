#pragma once
// The options of the benchmark of verbs. CLI11, which reads them, is compiled in verbs_options.cpp alone.

#include <string>

struct VerbsOptions {
  std::string device = "auto";  ///< cpu, cuda, cuda:N or auto
  std::string only;             ///< a part of the names of the workloads to measure
  bool tiny = false;            ///< sizes to try the program with
  bool serve = false;           ///< measures the workloads named by the input, answers in JSON
  double sample_seconds = 0;    ///< length of a sample
  int turns = 0;                ///< samples of each variant
  int threads = 0;              ///< on the host; 0: as the library chooses
  std::string json;             ///< file to write

  bool finished = false;  ///< --help was answered, or an option was wrong
  int exit_code = 0;

  VerbsOptions(int argc, char** argv);
};
