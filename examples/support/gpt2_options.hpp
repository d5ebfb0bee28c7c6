#pragma once
// The options of the gpt2 example. CLI11, which reads them, is compiled in gpt2_options.cpp alone.

#include <cstdint>
#include <string>
#include <vector>

struct GPT2TrainingOptions {
  std::string device = "auto";
  std::string type = "bfloat16";
  std::vector<std::string> train;  ///< files of tokens, as one text
  std::string valid;               ///< file of tokens; empty: no validation
  std::string size = "124M";       ///< sets those of the next three that are 0
  std::int64_t layers = 0, heads = 0, width = 0;
  std::int64_t vocabulary = 50257;
  std::int64_t context = 1024;  ///< tokens of a window
  double dropout = 0;
  std::string weights;  ///< file of Hugging Face's GPT2LMHeadModel to begin with; empty: drawn weights

  std::int64_t batch = 4;       ///< windows of a forward and backward pass
  std::int64_t accumulate = 1;  ///< such passes of a step
  std::int64_t steps = 1000;
  double lr = 6e-4, final_lr = 0, weight_decay = 0.1, clip = 1;
  std::int64_t warm_up = 100;  ///< steps
  std::uint64_t seed = 0;

  std::int64_t report_every = 10, validate_every = 250, valid_batches = 20;
  double peak = 0;                ///< TFLOP/s; 0: measured
  std::string checkpoint;         ///< where the run is saved and resumed; empty: nowhere
  double checkpoint_every = 300;  ///< seconds
  std::string output;             ///< file for the weights; empty: none

  bool finished = false;  ///< --help was answered, or an option was wrong
  int exit_code = 0;

  GPT2TrainingOptions(int argc, char** argv);
};

/// A hash of the options that affect training, and of the number of tokens to train with.
[[nodiscard]] std::int64_t fingerprint(const GPT2TrainingOptions& options, std::int64_t tokens);
/// throws locus::ArgumentError if the fingerprint in the checkpoint differs from the fingerprint of this run
void require_same_run(const GPT2TrainingOptions& options, std::int64_t saved, std::int64_t here);
