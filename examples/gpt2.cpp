// Trains GPT-2 on files of tokens, on the CPU or on a GPU, with the settings of llm.c.
//
//     gpt2 --device cuda --train fineweb_train_000001.bin --valid fineweb_val_000000.bin --batch 32 --accumulate 16
//         --steps 19560 --warm-up 700 --checkpoint run.safetensors --output gpt2.safetensors
//
// Files hold tokens of 16 bits, as nanoGPT and llm.c write them, or numpy.save; several are one text. A step, with all
// of its passes, is captured and replayed on a GPU. If the run is interrupted and restarted with the same options, it
// resumes from its checkpoint; on the CPU, the result is bit-identical to an uninterrupted run.

#include "support/gpt2_options.hpp"
#include "support/interrupt.hpp"

#include <locus/io/load_into.hpp>
#include <locus/io/training.hpp>
#include <locus/locus.hpp>
#include <locus/models/gpt2.hpp>
#include <locus/training/peak.hpp>

#include <cstdio>

using namespace locus;

template <Device D>
models::GPT2<float, D> initial_model(const GPT2TrainingOptions& options, D device) {
  auto model = models::gpt2<float>({.vocab_size = options.vocabulary,
                                    .n_positions = options.context,
                                    .n_embd = options.width,
                                    .n_layer = options.layers,
                                    .n_head = options.heads,
                                    .embd_pdrop = options.dropout,
                                    .attn_pdrop = options.dropout,
                                    .resid_pdrop = options.dropout},
                                   device);
  if (!options.weights.empty()) io::load_into(model, options.weights);
  return model;
}

/// AdamW with weight decay for matrices alone.
template <class T, class D>
optim::AdamW<T, D> optimizer_of(const models::GPT2<T, D>& model, const GPT2TrainingOptions& options) {
  std::vector<Parameter<T, D>> matrices, vectors;
  for (const auto& parameter : model.parameters()) (parameter.rank() > 1 ? matrices : vectors).push_back(parameter);
  const optim::Group decayed{matrices, {.weight_decay = options.weight_decay}}, others{vectors, {.weight_decay = 0}};
  return optim::AdamW<T, D>{{decayed, others}, {.lr = options.lr, .beta1 = 0.9, .beta2 = 0.95, .eps = 1e-8}};
}

/// A linear rise, then half a cosine.
template <class Optimizer>
optim::Scheduler schedule_of(Optimizer& optimizer, const GPT2TrainingOptions& options) {
  const std::int64_t rise = options.warm_up, rest = options.steps > rise ? options.steps - rise : 1;
  const optim::CosineAnnealingLR fall{.t_max = rest, .eta_min = options.final_lr};
  if (rise < 2) return {optimizer, fall};
  const optim::LinearLR warm_up{.start_factor = 1. / static_cast<double>(rise), .total_iters = rise - 1};
  return {optimizer, optim::SequentialLR{{warm_up, fall}, {rise}}};
}

/// Operations of a token's forward and backward pass, by the formula of PaLM (Chowdhery et al., 2022), which counts
/// neither embeddings of positions nor what the causal mask saves.
template <class M>
double operations_per_token(const M& model, const GPT2TrainingOptions& options) {
  std::int64_t weights = -options.context * options.width;
  for (const auto& parameter : model.parameters()) weights += parameter.elements();
  return 6. * static_cast<double>(weights) +
         12. * static_cast<double>(options.layers * options.width * options.context);
}

/// The mean loss of some batches, always the same ones.
template <class M, class Batches>
double validation_loss(const M& model, Batches& batches, std::int64_t most) {
  double sum = 0;
  std::int64_t count = 0;
  batches.set_epoch(0);
  for (const auto& batch : batches) {
    sum += static_cast<double>(model.loss(batch.tokens, batch.next).item());
    if (++count == most) break;
  }
  return sum / static_cast<double>(count);
}

/// Prints a line for some steps: speed is measured from the line before, memory of tensors from the beginning.
template <Device D>
class Report {
 public:
  Report(const GPT2TrainingOptions& options, double operations, double peak, D device)
      : tokens_of_step_(static_cast<double>(options.accumulate * options.batch * options.context)),
        operations_(operations),
        peak_(peak),
        device_(device) {}
  void add_step() { ++steps_; }
  void print(std::int64_t step, double loss, double lr) {
    const double speed = static_cast<double>(steps_) * tokens_of_step_ / watch_.seconds();
    const double memory = static_cast<double>(memory_stats(device_).peak_bytes);
    std::printf("step %6lld: loss %.4f, learning rate %.3g, %.0f tokens/s, %.1f %% of peak, %.0f MB at most\n",
                static_cast<long long>(step), loss, lr, speed, 100 * speed * operations_ / peak_, 1e-6 * memory);
    std::fflush(stdout);
    restart();
  }
  /// Leaves out the time since the last line.
  void restart() { watch_ = Stopwatch(), steps_ = 0; }

 private:
  double tokens_of_step_, operations_, peak_;
  D device_;
  std::int64_t steps_ = 0;
  Stopwatch watch_;
};

template <class T, Device D>
void train(const GPT2TrainingOptions& options, D device) {
  const data::TokenWindowsOptions windows{.length = options.context, .vocab_size = options.vocabulary};
  const data::TokenFiles tokens(options.train);
  const auto valid_tokens = options.valid.empty() ? tokens : data::TokenFiles({options.valid});
  const std::int64_t together = options.accumulate * options.batch;
  auto train =
      data::loader(data::TokenWindows{tokens, windows},
                   {.batch_size = together, .shuffle = true, .drop_last = true, .seed = options.seed + 1}, device);
  auto valid = data::loader(data::TokenWindows{valid_tokens, windows}, {.batch_size = options.batch}, device);
  if (train.size() == 0)
    fail<DataError>({"'", options.train.front(), "' has ", tokens.size(), " tokens; expected more than ", together,
                     " windows of ", options.context, ": take a smaller --batch, --accumulate or --context"});

  const auto model = initial_model(options, device).template as<T>();
  auto optimizer = optimizer_of(model, options);
  optim::Scheduler scheduler = schedule_of(optimizer, options);
  const std::int64_t own_run = fingerprint(options, tokens.size());
  std::int64_t run = own_run;
  if (!options.checkpoint.empty() && io::resume_training(options.checkpoint, model, optimizer, scheduler, train, run)) {
    require_same_run(options, run, own_run);
    std::printf("going on after %lld steps\n", static_cast<long long>(scheduler.steps()));
  }

  const Tensor<std::int64_t, D> input({together, options.context}, device), next(input.shape(), device);
  auto step = capture(
      [&] {
        const float share = 1.f / static_cast<float>(options.accumulate);
        const Tensor<float, D> sum = zeros<float>({}, device);
        optimizer.zero_grad();
        for (std::int64_t first = 0; first < together; first += options.batch) {
          const std::int64_t end = first + options.batch;
          const Traced loss = model.loss(trace(input.slice(0, first, end)), next.slice(0, first, end)) * share;
          loss.backward();
          sum += loss.value();
        }
        optim::clip_grad_norm_(model.parameters(), options.clip);
        optimizer.step();
        return sum;
      },
      device);

  const Interrupt interrupt;
  Stopwatch since_checkpoint;
  const auto save = [&] {
    if (!options.checkpoint.empty()) io::save_training(options.checkpoint, model, optimizer, scheduler, train, run);
    since_checkpoint = Stopwatch();
  };
  const double peak = options.peak > 0 ? options.peak * 1e12 : measured_peak<T>(device);
  Report report(options, operations_per_token(model, options), peak, device);
  const auto validate = [&] {
    if (options.valid.empty()) return;
    std::printf("step %6lld: validation loss %.4f\n", static_cast<long long>(scheduler.steps()),
                validation_loss(model, valid, options.valid_batches));
    report.restart();
  };
  const auto is_due = [&](std::int64_t every) {
    return scheduler.steps() % every == 0 || scheduler.steps() == options.steps;
  };

  while (scheduler.steps() < options.steps) {
    for (const auto& batch : train) {
      input.copy_(batch.tokens), next.copy_(batch.next);
      const double lr = optimizer.lr();
      const Tensor<float, D> loss = step();
      scheduler.step();
      report.add_step();
      if (is_due(options.report_every))
        report.print(scheduler.steps(), static_cast<double>(loss.template to<Cpu>().item()), lr);
      if (is_due(options.validate_every)) validate();
      if (interrupt.requested() || scheduler.steps() == options.steps ||
          since_checkpoint.seconds() >= options.checkpoint_every)
        save();
      if (interrupt.requested()) throw Interrupted{};
      if (scheduler.steps() == options.steps) break;
    }
  }
  if (!options.output.empty()) io::save(options.output, nn::state_dict(model));
}

int main(int argc, char** argv) try {
  const GPT2TrainingOptions options(argc, argv);
  if (options.finished) return options.exit_code;
  const AnyDevice chosen = parse_device(options.device);
  manual_seed(options.seed);
  for (const std::string& path : {options.checkpoint, options.output})
    if (!path.empty()) io::require_writable(path);
  with_device(chosen, [&]<Device D>(D device) {
    std::printf("training in %s on %s\n", options.type.c_str(), to_string(device).c_str());
    if (options.type == "float") train<float>(options, device);
    else train<bfloat16>(options, device);
  });
} catch (const Interrupted&) {
  std::fprintf(stderr, "gpt2: interrupted; the same command goes on from the checkpoint, if one was named\n");
  return 130;
} catch (const Error& error) {
  std::fprintf(stderr, "gpt2: %s\n", error.what());
  return 1;
}
