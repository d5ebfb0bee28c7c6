#pragma once
// The options of the benchmark training_times. CLI11, which reads them, is compiled in training_times_options.cpp
// alone.

#include <cstdint>
#include <string>
#include <vector>

struct TrainingTimesOptions {
  std::vector<std::int64_t> hidden{16, 64, 256, 1024, 4096};  ///< outputs of each hidden layer
  std::vector<std::int64_t> depth{1, 2, 3};                   ///< hidden layers
  std::vector<std::int64_t> batch{16, 128, 1024};
  std::vector<std::int64_t> images{};  ///< per epoch; none: measures steps, not whole epochs
  std::vector<int> threads{};          ///< on the CPU, each measured; none: 1 and one per core
  std::string device = "auto";         ///< cpu, cuda, cuda:N, auto or both
  std::string data{};                  ///< folder of MNIST; empty: random images
  double min_seconds = 0.3;            ///< of each measurement
  double budget = 0;                   ///< seconds after which no measurement begins; 0: none
  bool pin = false;                    ///< each thread to a core of its own

  bool finished = false;  ///< --help was answered, or an option was wrong
  int exit_code = 0;

  TrainingTimesOptions(int argc, char** argv);
};
