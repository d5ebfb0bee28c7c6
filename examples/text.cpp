// Trains a small GPT on a text, byte by byte or in tokens, on the CPU or on a GPU, and generates text with it.
//
//     text --device cpu --data shakespeare.txt --epochs 40 --checkpoint run.safetensors --temperature 0.8
//     text --data shakespeare.txt --train-tokenizer 1000 --save bard       # then: chat bard --prompt "To be"
//
// If it is interrupted and restarted with the same options, it resumes after the last complete epoch; on the CPU, the
// result is bit-identical to an uninterrupted run. Generated text goes to stdout, messages to stderr.

#include "support/corpus.hpp"
#include "support/text_options.hpp"

#include <locus/io/training.hpp>
#include <locus/locus.hpp>
#include <locus/models/generate.hpp>
#include <locus/models/gpt2_config.hpp>

#include <cstdio>

#include <unistd.h>

using namespace locus;

/// Cross-entropy of each token given those before it. logits: (batch, context, vocabulary), next: (batch, context)
struct NextTokenLoss {
  template <class L, class Y>
  [[nodiscard]] auto operator()(const L& logits, const Y& next) const {
    return nn::cross_entropy(flatten(logits, 0, 1), next.flatten());
  }
};

/// Options of fit() that show progress in tokens: on a terminal while an epoch runs, and at its end.
FitOptions shown_by_tokens(const TextOptions& options) {
  const bool terminal = isatty(STDERR_FILENO) != 0;
  const auto context = static_cast<double>(options.context);
  return {.on_progress =
              [=](const Progress& p) {
                if (terminal)
                  std::fprintf(stderr, "\repoch %3d: batch %lld of %lld, loss %.3f, %.0f tokens/s", p.epoch,
                               static_cast<long long>(p.batch), static_cast<long long>(p.batches), p.loss,
                               context * p.samples_per_second);
              },
          .on_epoch =
              [=](const EpochRecord& r) {
                std::fprintf(stderr,
                             "%sepoch %3d: loss %.3f, validation loss %.3f, learning rate %.2g, %.0f tokens/s\n",
                             terminal ? "\r\033[K" : "", r.epoch, r.train_loss, r.valid_loss, r.learning_rate,
                             context * r.samples_per_second);
              }};
}

models::GPT2Options model_options(std::int64_t vocabulary, const TextOptions& options) {
  return {.vocab_size = vocabulary,
          .n_positions = options.context,
          .n_embd = options.width,
          .n_layer = options.layers,
          .n_head = options.heads,
          .embd_pdrop = options.dropout,
          .attn_pdrop = options.dropout,
          .resid_pdrop = options.dropout};
}

template <Device D>
models::GPT2<float, D> trained(const Tokens& tokens, std::int64_t vocabulary, const TextOptions& options, D device) {
  const auto model = models::gpt2<float>(model_options(vocabulary, options), device);
  const auto parts = divided(tokens, options.context);
  auto train = data::loader(Windows{parts.train, options.batches * options.batch, options.context, options.seed},
                            {.batch_size = options.batch}, device);
  auto valid = data::loader(Windows{parts.valid, 4 * options.batch, options.context, options.seed, true},
                            {.batch_size = options.batch}, device);

  optim::AdamW optimizer{model.parameters(), {.lr = options.lr, .weight_decay = 0.1}};
  const std::int64_t steps = options.epochs * train.size(), warm_up = 1 + steps / 20;
  optim::Scheduler scheduler{optimizer,
                             optim::SequentialLR{{optim::LinearLR{.start_factor = 0.1, .total_iters = warm_up},
                                                  optim::CosineAnnealingLR{.t_max = steps, .eta_min = options.lr / 10}},
                                                 {warm_up}}};
  std::int64_t run = fingerprint(tokens, options);
  if (!options.checkpoint.empty() && io::resume_training(options.checkpoint, model, optimizer, scheduler, train, run)) {
    require_same_run(options, run, fingerprint(tokens, options));
    std::fprintf(stderr, "going on after epoch %llu\n", static_cast<unsigned long long>(train.epoch()));
  }

  const int done = static_cast<int>(train.epoch());
  FitOptions fit_options = shown_by_tokens(options);
  fit_options.first_epoch = done + 1;
  fit_options.epochs = options.epochs - done;
  fit_options.before_step = [&] { optim::clip_grad_norm_(model.parameters(), 1.0); };
  fit_options.scheduler = scheduler;
  fit_options.schedule_every = Every::step;
  fit_options.on_epoch = [&, show = fit_options.on_epoch](const EpochRecord& epoch) {
    show(epoch);
    if (!options.checkpoint.empty()) io::save_training(options.checkpoint, model, optimizer, scheduler, train, run);
  };
  History history;
  fit(model, optimizer, NextTokenLoss{}, train, valid, history, fit_options);
  return model;
}

/// Prints the prompt, and its continuation token by token. Where the model sees no more tokens, it goes on from the
/// last half of those that it saw.
template <Device D>
void write_on(const models::GPT2<float, D>& model, Tokens tokens, const Alphabet& alphabet,
              const TextOptions& options) {
  const auto show = [&](const Tokens& shown) {
    std::fputs(alphabet.printable(shown).c_str(), stdout);
    std::fflush(stdout);
  };
  show(tokens);
  const Stopwatch watch;
  for (std::int64_t written = 0, seen = options.context; written < options.length; seen = (options.context + 1) / 2) {
    const models::GenerateOptions generation{.max_new_tokens = options.length - written,
                                             .temperature = options.temperature,
                                             .top_k = options.top_k,
                                             .top_p = options.top_p,
                                             .seed = options.seed + static_cast<std::uint64_t>(written)};
    const auto generated = models::generate(model, last_of(tokens, seen), generation, [&](std::int64_t token) {
      tokens.push_back(token);
      show({token});
    });
    written += std::ssize(generated.tokens);
  }
  std::puts("");
  std::fprintf(stderr, "%lld tokens written, %.0f tokens/s\n", static_cast<long long>(options.length),
               static_cast<double>(options.length) / watch.seconds());
}

int main(int argc, char** argv) try {
  const TextOptions options(argc, argv);
  if (options.finished) return options.exit_code;
  manual_seed(options.seed);
  const std::string text = read_text(options.data);
  const Alphabet alphabet(options, text);
  const Tokens tokens = tokens_of(text, alphabet, options);
  if (!options.checkpoint.empty()) io::require_writable(options.checkpoint);
  if (!options.save.empty()) alphabet.save(options.save);
  with_device(parse_device(options.device), [&]<Device D>(D device) {
    std::fprintf(stderr, "training on %s, on %zu %s of %s\n", to_string(device).c_str(), tokens.size(), alphabet.unit(),
                 options.data.empty() ? "a built-in text" : options.data.c_str());
    const auto model = trained(tokens, alphabet.size(), options, device);
    if (!options.save.empty()) {
      models::save_config(options.save, model_options(alphabet.size(), options));
      io::save(options.save + "/model.safetensors", nn::state_dict(model));
    }
    write_on(model, alphabet.encode(prompt_of(text, options)), alphabet, options);
  });
} catch (const Error& error) {
  std::fprintf(stderr, "text: %s\n", error.what());
  return 1;
}
