#include "text_options.hpp"

#include <CLI/CLI.hpp>

TextOptions::TextOptions(int argc, char** argv) {
  CLI::App app("Trains a small GPT on a text, and lets it write on.");
  const auto number = [&](const char* name, auto& value, const char* what, auto least, auto most) {
    app.add_option(name, value, what)->check(CLI::Range(least, most))->capture_default_str();
  };
  constexpr std::int64_t million = 1'000'000;
  app.add_option("--device", device, "where to train: cpu, cuda, cuda:N, or auto")->capture_default_str();
  app.add_option("--data", data, "file with the text, of any encoding; without it, a built-in text");
  app.add_option("--tokenizer", tokenizer, "file tokenizer.json, or a folder with it; without it, tokens are bytes");
  number("--train-tokenizer", train_tokenizer,
         "learn so many tokens from the text, at least 256, and write them to the file of --tokenizer; 0: none",
         std::int64_t{0}, million);
  number("--epochs", epochs, "epochs", 1, 1000000);
  number("--batches", batches, "batches of an epoch, of windows at random places", std::int64_t{1}, million);
  number("--batch", batch, "windows of a batch", std::int64_t{1}, million);
  number("--context", context, "tokens of a window, which the model sees at most", std::int64_t{1}, million);
  number("--width", width, "width of the model", std::int64_t{1}, million);
  number("--layers", layers, "blocks of the model", std::int64_t{1}, million);
  number("--heads", heads, "heads of each attention; they divide the width", std::int64_t{1}, million);
  number("--dropout", dropout, "share that dropout drops", 0.0, 1.0);
  number("--lr", lr, "learning rate after a warm-up, which falls to a tenth along a cosine", 0.0, 1e3);
  app.add_option("--seed", seed, "of initial weights, windows and what is written")->capture_default_str();
  app.add_option("--checkpoint", checkpoint, "safetensors file to keep the run in after each epoch, and to go on from");
  app.add_option("--save", save, "folder for the model, as chat reads it; needs a tokenizer");
  number("--length", length, "tokens to write at the end", std::int64_t{0}, 1000 * million);
  number("--temperature", temperature, "divides the logits; 0 always takes the likeliest token", 0.0, 1e3);
  number("--top-k", top_k, "draw among so many tokens; 0: among all", std::int64_t{0}, million);
  number("--top-p", top_p, "draw among the likeliest tokens that have this probability together", 0.0, 1.0);
  app.add_option("--prompt", prompt, "what to go on from; without it, the first word of the text");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    finished = true;
    exit_code = app.exit(error) == 0 ? 0 : 2;
  }
}
