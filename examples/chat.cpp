// Lets a language model of a folder of Hugging Face write, on the CPU or on a GPU: text comes as it is drawn.
//
//     chat gpt2 --prompt "Once upon a time" --length 200 --seed 3
//     chat Qwen2.5-0.5B-Instruct --type bfloat16 --after-answer '\n'
//         --turn '<|im_start|>user\n{}<|im_end|>\n<|im_start|>assistant\n'
//
// Without --prompt, each line of standard input continues the conversation, whose keys and values stay in a cache.
// Text goes to stdout, messages to stderr. Ctrl-C ends an answer; a second one ends the program.

#include "support/chat_options.hpp"
#include "support/element_type.hpp"
#include "support/interrupt.hpp"

#include <locus/io/load_into.hpp>
#include <locus/locus.hpp>
#include <locus/models/generate_text.hpp>
#include <locus/models/gpt2_config.hpp>
#include <locus/models/llama.hpp>
#include <locus/models/llama_config.hpp>

#include <cstdio>
#include <iostream>

#include <unistd.h>

using namespace locus;

/// A conversation with a model.
template <models::Decoder M>
class Conversation {
 public:
  Conversation(const M& model, const text::Tokenizer& tokenizer, const ChatOptions& options)
      : model_(model),
        tokenizer_(tokenizer),
        options_(options),
        cache_(model.cache({.capacity = std::min(options.context, model.max_length())})) {}

  /// Writes the continuation of a text, which follows all that was said before.
  void answer(const std::string& text) {
    add(text);
    const std::vector<std::int64_t> unseen(said_.begin() + cache_.length(), said_.end());
    const Interrupt interrupt;
    const Stopwatch watch;
    double prompt_seconds = 0;
    const auto result =
        models::generate_text(model_, tokenizer_, cache_, unseen, options_.generate, [&](std::string_view part) {
          if (prompt_seconds == 0) prompt_seconds = watch.seconds();
          std::cout << part << std::flush;
          return !interrupt.requested();
        });
    std::cout << "\n";
    said_.insert(said_.end(), result.tokens.begin(), result.tokens.end());
    if (result.stop_token) said_.push_back(*result.stop_token);  // as the end of a turn
    report(std::ssize(unseen), prompt_seconds, std::ssize(result.tokens), watch.seconds() - prompt_seconds);
  }

 private:
  /// Adds the tokens of a text to the conversation, or begins another one with them.
  void add(const std::string& text) {
    std::vector<std::int64_t> tokens =
        said_.empty() ? tokenizer_.encode(text)
                      : tokenizer_.encode(options_.after_answer + text, {.add_special_tokens = false});
    const std::int64_t most = cache_.capacity();
    if (!said_.empty() && std::ssize(said_) + std::ssize(tokens) > most) {
      std::fprintf(stderr, "chat: the context of %lld tokens is full; the conversation begins anew\n",
                   static_cast<long long>(most));
      said_.clear(), cache_.reset();
      tokens = tokenizer_.encode(text);
    }
    if (std::ssize(tokens) > most)
      fail<ArgumentError>(
          {"a text of ", tokens.size(), " tokens; expected at most ", most, ", as of --context and the model"});
    said_.insert(said_.end(), tokens.begin(), tokens.end());
  }
  static void report(std::int64_t prompt, double prompt_seconds, std::int64_t written, double seconds) {
    std::fprintf(stderr, "[%lld tokens read, %lld written", static_cast<long long>(prompt),
                 static_cast<long long>(written));
    if (written > 1)
      std::fprintf(stderr, ", %.3g s to the first text, then %.3g tokens/s", prompt_seconds,
                   static_cast<double>(written - 1) / seconds);
    std::fprintf(stderr, "]\n");
  }

  const M& model_;
  const text::Tokenizer& tokenizer_;
  const ChatOptions& options_;
  nn::KeyValueCache<value_of<M>, device_of<M>> cache_;
  std::vector<std::int64_t> said_;  // all tokens so far; the cache lacks the last ones
};

template <models::Decoder M>
void chat(const M& model, const ChatOptions& options) {
  const auto tokenizer = text::Tokenizer::from_file(options.model);
  Conversation conversation(model, tokenizer, options);
  if (!options.prompt.empty()) return conversation.answer(options.prompt);
  const bool is_terminal = isatty(STDIN_FILENO) != 0;
  for (std::string line; (is_terminal && std::cerr << "> "), std::getline(std::cin, line);)
    if (!line.empty()) conversation.answer(options.turn_of(line));
}

/// Calls f(model) with the model of the folder.
template <class T, Device D, class F>
void with_model(const std::string& folder, D device, const F& f) {
  const auto loaded = [&](const auto& make) {
    const auto model = nn::init::without_draws(make);
    io::load_into(model, folder);
    f(model);
  };
  if (models::model_type(folder) == "gpt2")
    loaded([&] { return models::gpt2<T>(models::gpt2_options(folder), device); });
  else loaded([&] { return models::llama<T>(models::llama_options(folder), device); });
}

int main(int argc, char** argv) try {
  ChatOptions options(argc, argv);
  if (options.finished) return options.exit_code;
  options.generate.stop = models::end_tokens(options.model);
  with_device(parse_device(options.device), [&]<Device D>(D device) {
    with_type(options.type, [&]<class T>() {
      with_model<T>(options.model, device, [&](const auto& model) { chat(model, options); });
    });
  });
} catch (const Error& error) {
  std::fprintf(stderr, "chat: %s\n", error.what());
  return 1;
}
