#include "gpt2_options.hpp"

#include <locus/core/check.hpp>

#include <CLI/CLI.hpp>

#include <map>

namespace {
struct Size {
  std::int64_t layers, heads, width;
};
/// The published sizes, by their number of parameters, and one for tests.
const std::map<std::string, Size> sizes{{"tiny", {2, 2, 64}},
                                        {"124M", {12, 12, 768}},
                                        {"350M", {24, 16, 1024}},
                                        {"774M", {36, 20, 1280}},
                                        {"1558M", {48, 25, 1600}}};
}  // namespace

GPT2TrainingOptions::GPT2TrainingOptions(int argc, char** argv) {
  CLI::App app("Trains GPT-2 on files of tokens of nanoGPT, llm.c or numpy.save.");
  const auto number = [&](const char* name, auto& value, const char* meaning, auto least, auto most) {
    app.add_option(name, value, meaning)->check(CLI::Range(least, most))->capture_default_str();
  };
  constexpr std::int64_t million = 1'000'000, one = 1, none = 0;
  app.add_option("--device", device, "where to train: cpu, cuda, cuda:N, or auto")->capture_default_str();
  app.add_option("--type", type, "element type of the model: bfloat16, with float master weights, or float")
      ->check(CLI::IsMember({"bfloat16", "float"}))
      ->capture_default_str();
  app.add_option("--train", train, "files of tokens to train with, as one text")->required();
  app.add_option("--valid", valid, "file of tokens for the validation loss");
  app.add_option("--size", size, "tiny, or a published size: 124M, 350M, 774M, 1558M")
      ->check(CLI::IsMember({"tiny", "124M", "350M", "774M", "1558M"}))
      ->capture_default_str();
  number("--layers", layers, "blocks; 0: those of the size", none, million);
  number("--heads", heads, "heads of each attention, which divide the width; 0: those of the size", none, million);
  number("--width", width, "width of the model; 0: that of the size", none, million);
  number("--vocabulary", vocabulary, "number of tokens", one, std::int64_t{65536});
  number("--context", context, "tokens of a window, which the model sees at most", one, million);
  number("--dropout", dropout, "share that dropout drops", 0.0, 1.0);
  app.add_option("--weights", weights, "safetensors file of Hugging Face's GPT2LMHeadModel to begin with");
  number("--batch", batch, "windows of a forward and backward pass", one, million);
  number("--accumulate", accumulate, "passes whose gradients make a step", one, million);
  number("--steps", steps, "steps of the optimizer", one, 1000 * million);
  number("--lr", lr, "learning rate after the warm-up", 0.0, 1e3);
  number("--final-lr", final_lr, "learning rate at the end of the cosine", 0.0, 1e3);
  number("--warm-up", warm_up, "steps in which the learning rate rises from 0", none, 1000 * million);
  number("--weight-decay", weight_decay, "of matrices; vectors have none", 0.0, 1e3);
  number("--clip", clip, "the largest norm of the gradients of a step", 0.0, 1e30);
  app.add_option("--seed", seed, "of initial weights, dropout and the order of windows")->capture_default_str();
  number("--report-every", report_every, "steps between two lines", one, 1000 * million);
  number("--validate-every", validate_every, "steps between two validations", one, 1000 * million);
  number("--valid-batches", valid_batches, "batches of a validation", one, million);
  number("--peak", peak, "peak of the device in TFLOP/s, for the share of it; 0: as measured in a product", 0.0, 1e9);
  app.add_option("--checkpoint", checkpoint, "safetensors file to keep the run in, and to go on from");
  number("--checkpoint-every", checkpoint_every, "seconds between two of them", 0.0, 1e9);
  app.add_option("--output", output, "safetensors file for the weights at the end");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    finished = true;
    exit_code = app.exit(error) == 0 ? 0 : 2;
    return;
  }
  const Size& chosen = sizes.at(size);
  if (layers == 0) layers = chosen.layers;
  if (heads == 0) heads = chosen.heads;
  if (width == 0) width = chosen.width;
}

std::int64_t fingerprint(const GPT2TrainingOptions& o, std::int64_t tokens) {
  std::uint64_t hash = 14695981039346656037u;  // FNV-1a
  for (const char each :
       locus::join(o.type, " ", o.context, " ", o.dropout, " ", o.batch, " ", o.accumulate, " ", o.steps, " ", o.lr,
                   " ", o.final_lr, " ", o.warm_up, " ", o.weight_decay, " ", o.clip, " ", o.seed, " ", tokens))
    hash = (hash ^ static_cast<unsigned char>(each)) * 1099511628211u;
  return static_cast<std::int64_t>(hash);
}

void require_same_run(const GPT2TrainingOptions& options, std::int64_t saved, std::int64_t here) {
  if (saved == here) return;
  locus::fail<locus::ArgumentError>(
      {"'", options.checkpoint,
       "' is of a run on other tokens, or with other --type, --context, --dropout, --batch, --accumulate, --steps, "
       "--lr, --final-lr, --warm-up, --weight-decay, --clip or --seed; give those that it began with, or another "
       "--checkpoint"});
}
