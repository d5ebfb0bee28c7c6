#pragma once
// The options of the mnist example. CLI11, which reads them, is compiled in command_line.cpp alone.

#include <cstdint>
#include <string>

struct CommandLine {
  std::string device = "auto";
  std::string type = "float";  ///< of the model and its images
  std::string data;            ///< folder with MNIST's files; empty: drawn digits
  int epochs = 10;
  std::int64_t hidden = 32;
  std::uint64_t seed = 0;
  int workers = -1;       ///< of the loader; -1: data::suggested_workers()
  std::string history;    ///< where to write the history as JSON
  std::string plot;       ///< where to write the curves as SVG
  std::string steps_log;  ///< where to write the losses of the first steps, instead of training
  std::int64_t steps = 100;

  bool finished = false;  ///< --help was answered, or an option was wrong
  int exit_code = 0;

  CommandLine(int argc, char** argv);
};
