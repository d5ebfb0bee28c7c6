#pragma once
// The options of the cifar10 example. CLI11, which reads them, is compiled in cifar_options.cpp alone.

#include <cstdint>
#include <string>

struct CifarOptions {
  std::string device = "auto";
  std::string type = "float";    ///< of the model and its images
  std::string data;              ///< folder with CIFAR-10's binary version; empty: drawn images
  std::int64_t images = 0;       ///< how many to train with, the first ones; 0: all
  std::int64_t test_images = 0;  ///< how many to test with, the first ones; 0: all
  int epochs = 24;
  std::int64_t batch = 128;
  double lr = 0.1;  ///< the largest
  std::string schedule = "one-cycle";
  double weight_decay = 5e-4;
  double smoothing = 0.1;
  double average = 0.99;  ///< decay of the average of weights; 0: none
  std::int64_t cutout = 0;
  std::int64_t width = 64;
  bool channels_last = false;
  bool captures = true;  ///< steps on a GPU
  std::uint64_t seed = 0;
  int workers = -1;  ///< -1: as many as data::suggested_workers() says
  std::string checkpoint;
  double checkpoint_every = 60;  ///< seconds
  std::string output;            ///< folder of results

  bool finished = false;  ///< --help was answered, or an option was wrong
  int exit_code = 0;

  CifarOptions(int argc, char** argv);
};

/// A hash of the options and the number of images: a run resumes only from checkpoints with the same hash.
std::int64_t fingerprint(const CifarOptions& options, std::int64_t images);

/// throws locus::ArgumentError for a checkpoint of another run
void require_same_run(const std::string& checkpoint, std::int64_t in_file, std::int64_t of_options);
