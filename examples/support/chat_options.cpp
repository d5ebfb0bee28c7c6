#include "chat_options.hpp"

#include <CLI/CLI.hpp>

namespace {
constexpr std::string_view place_of_line = "{}";

/// A text of the command line, in which \n is a line feed, and \\ a backslash.
std::string unescaped(const std::string& text) {
  std::string result;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const bool is_escape = text[i] == '\\' && i + 1 < text.size() && (text[i + 1] == 'n' || text[i + 1] == '\\');
    if (is_escape) ++i;
    result += is_escape && text[i] == 'n' ? '\n' : text[i];
  }
  return result;
}
}  // namespace

ChatOptions::ChatOptions(int argc, char** argv) {
  CLI::App app("Lets a language model of a folder of Hugging Face write: GPT-2, Llama, Mistral, Qwen2 or Qwen3.");
  const auto number = [&](const char* name, auto& value, const char* meaning, auto least, auto most) {
    app.add_option(name, value, meaning)->check(CLI::Range(least, most))->capture_default_str();
  };
  constexpr std::int64_t million = 1'000'000, one = 1, none = 0;
  app.add_option("model", model, "folder with config.json, tokenizer.json and model.safetensors, or its shards")
      ->required();
  app.add_option("--device", device, "where to run: cpu, cuda, cuda:N, or auto")->capture_default_str();
  app.add_option("--type", type, "element type of the model: float, bfloat16 or half")->capture_default_str();
  app.add_option("--prompt", prompt, "text to continue; without it, each line of standard input is a turn");
  app.add_option("--turn", turn, "text of a turn, with {} for the line, \\n for a line feed; special tokens may occur")
      ->default_str("{}\\n");
  app.add_option("--after-answer", after_answer, "text between an answer and the next turn, as \\n for Qwen");
  number("--context", context, "most tokens of a conversation; the model may take fewer", one, 1000 * million);
  number("--length", generate.max_new_tokens, "most tokens of an answer", one, 1000 * million);
  number("--temperature", generate.temperature, "divides the logits; 0 always takes the likeliest token", 0.0, 1e3);
  number("--top-k", generate.top_k, "draw among so many tokens; 0: among all", none, 1000 * million);
  number("--top-p", generate.top_p, "draw among the likeliest tokens that have this probability together", 0.0, 1.0);
  number("--min-p", generate.min_p, "draw among tokens with this share of the largest probability", 0.0, 1.0);
  number("--repetition-penalty", generate.repetition_penalty, "above 1: earlier tokens are less likely", 1e-3, 1e3);
  app.add_option("--stop", generate.stop_texts, "text that ends an answer; may be given several times");
  app.add_option("--seed", generate.seed, "of the draws")->capture_default_str();
  try {
    app.parse(argc, argv);
    if (turn = unescaped(turn); turn.find(place_of_line) == turn.npos)
      throw CLI::ValidationError("--turn", "expected a text with {}, the place of the line");
    after_answer = unescaped(after_answer);
    for (std::string& stop : generate.stop_texts)
      if (stop = unescaped(stop); stop.empty())
        throw CLI::ValidationError("--stop", "expected a text that is not empty");
  } catch (const CLI::ParseError& error) {
    finished = true;
    exit_code = app.exit(error) == 0 ? 0 : 2;
  }
}

std::string ChatOptions::turn_of(const std::string& line) const {
  std::string text = turn;
  return text.replace(text.find(place_of_line), place_of_line.size(), line);
}
