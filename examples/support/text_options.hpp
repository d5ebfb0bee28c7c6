#pragma once
// The options of the text example. CLI11, which reads them, is compiled in text_options.cpp alone.

#include <cstdint>
#include <string>

struct TextOptions {
  std::string device = "auto";
  std::string data;                  ///< a file; empty: a built-in text
  std::string tokenizer;             ///< a file tokenizer.json; empty: the tokens are bytes
  std::int64_t train_tokenizer = 0;  ///< learns so many tokens from the text, and writes them to `tokenizer`
  int epochs = 20;
  std::int64_t batches = 50;  ///< of an epoch
  std::int64_t batch = 16;    ///< windows of a batch
  std::int64_t context = 64;  ///< tokens of a window
  std::int64_t width = 128, layers = 3, heads = 4;
  double dropout = 0.1;
  double lr = 0.002;
  std::uint64_t seed = 0;
  std::string checkpoint;     ///< where the run is saved and resumed; empty: nowhere
  std::string save;           ///< a folder for the model, as of Hugging Face; empty: none
  std::int64_t length = 400;  ///< tokens to write
  double temperature = 0.8;
  std::int64_t top_k = 0;  ///< draws among the most likely tokens; 0: among all
  double top_p = 1;        ///< draws among the most likely tokens that have this probability together
  std::string prompt;      ///< empty: the first word of the text

  bool finished = false;  ///< --help was answered, or an option was wrong
  int exit_code = 0;

  TextOptions(int argc, char** argv);
};
