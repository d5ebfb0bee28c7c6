#pragma once
// The options of the chat example. CLI11, which reads them, is compiled in chat_options.cpp alone.

#include <locus/models/generate_options.hpp>

#include <cstdint>
#include <string>

struct ChatOptions {
  std::string model;  ///< a folder of Hugging Face
  std::string device = "auto";
  std::string type = "float";
  std::string prompt;           ///< empty: lines of stdin, until it ends
  std::string turn = "{}\n";    ///< how a line continues the conversation: {} is the line
  std::string after_answer;     ///< text between an answer and the next turn
  std::int64_t context = 4096;  ///< most tokens of a conversation
  locus::models::GenerateOptions generate{.max_new_tokens = 256, .temperature = 0.8, .top_p = 0.95};

  bool finished = false;  ///< --help was answered, or an option was wrong
  int exit_code = 0;

  ChatOptions(int argc, char** argv);

  /// The text of a turn, with the line in place of {}.
  [[nodiscard]] std::string turn_of(const std::string& line) const;
};
