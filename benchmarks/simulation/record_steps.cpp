// The program of one rank for a training step of each workload, as JSON: launches with their least bytes and their
// operations, collectives, and waits; and the bytes of its tensors. The code of training is the library's own, on a
// device that computes nothing.
//
//   record_steps perceptron > perceptron.json
//   record_steps gpt2 --sharded 1 --ranks 64

#include "recording_engine.hpp"

#include <locus/distributed/distributed.hpp>
#include <locus/io/json.hpp>
#include <locus/locus.hpp>
#include <locus/models/gpt2.hpp>
#include <locus/models/resnet.hpp>

#include <cstdio>
#include <cstdlib>

using namespace locus;
using scaling::Virtual;

namespace {

/// Records the step after the first, and the bytes of tensors before and within it.
template <class Step>
void write_step(io::JsonWriter& json, const char* name, int ranks, std::int64_t parameters,
                std::int64_t parameter_bytes, const Step& step) {
  step();  // the first pass agrees on gradients, and optimizers allocate their states
  const std::int64_t kept = memory_stats(Virtual{}).allocated_bytes;
  reset_peak_memory_stats(Virtual{});
  scaling::recording.begin();
  step();
  const auto program = scaling::recording.end();
  json.begin_object().member("name", name).member("ranks", ranks).member("parameters", parameters);
  json.member("parameter_bytes", parameter_bytes).member("kept_bytes", kept);
  json.member("peak_bytes", memory_stats(Virtual{}).peak_bytes).key("program");
  scaling::write(json, program);
  json.end_object();
}

struct RecordOptions {
  int ranks = 2;
  bool is_sharded = false;
  int ranks_of_copy = 0;      ///< ShardedOptions::ranks_of_copy
  std::int64_t batch = 1024;  ///< of the perceptron
  dist::DistributedOptions distributed{};
};

/// `build()`: the model, which only its wrapper keeps. loss_of(model): of the model within the wrapper, for which its
/// passes are called.
template <class Build, class Optimizer, class Loss>
void write_training(io::JsonWriter& json, const char* name, const Build& build, const RecordOptions& options,
                    const Optimizer& optimizer_of, const Loss& loss_of) {
  // sharded() splits into the ranks of a copy, if there are several copies, and then into ranks with the same part.
  const int of_copy = options.ranks_of_copy > 0 ? options.ranks_of_copy : options.ranks;
  const auto choices = [=, &options](int call, int rank) {
    return dist::GroupChoice{call == 0 && of_copy < options.ranks ? rank / of_copy : rank % of_copy, 0};
  };
  const dist::Communicator<Virtual> comm(
      Shared<dist::Engine<Virtual>>(new scaling::RecordingEngine(0, options.ranks, choices)));
  std::int64_t elements = 0, bytes = 0;
  const auto count = [&](const auto& model) {
    for (const auto& parameter : model.parameters()) elements += parameter.elements();
    bytes = elements * static_cast<std::int64_t>(sizeof(value_of<decltype(model)>));
    return model;
  };
  const auto train = [&](const auto& parallel, const auto& loss) {
    auto optimizer = optimizer_of(parallel);
    write_step(json, name, options.ranks, elements, bytes, [&] {
      optimizer.zero_grad();
      loss(parallel).backward();
      optimizer.step();
    });
  };
  if (options.is_sharded) {
    train(dist::sharded(count(build()), comm, {.ranks_of_copy = options.ranks_of_copy}),
          [&](const auto& parallel) { return parallel.call(loss_of); });
  } else {
    train(dist::distributed(count(build()), comm, options.distributed),
          [&](const auto& parallel) { return loss_of(parallel.module()); });
  }
}

template <class M>
[[nodiscard]] auto adamw(const M& model) {
  return optim::AdamW(model.parameters(), {.lr = 1e-4});
}
template <class M>
[[nodiscard]] auto sgd(const M& model) {
  return optim::Sgd(model.parameters(), {.lr = 1e-3, .momentum = 0.9});
}

void record_gpt2(io::JsonWriter& json, const RecordOptions& options) {
  constexpr std::int64_t batch = 8, length = 2048;
  constexpr models::GPT2Options sizes{.n_positions = length,
                                      .n_embd = 2048,
                                      .n_layer = 24,
                                      .n_head = 16,
                                      .embd_pdrop = 0,
                                      .attn_pdrop = 0,
                                      .resid_pdrop = 0};
  const Tensor<std::int64_t, Virtual> tokens({batch, length}), next({batch, length});
  write_training(
      json, "gpt2", [&] { return models::gpt2<bfloat16, Virtual>(sizes); }, options,
      [](const auto& m) { return adamw(m); }, [&](const auto& m) { return m.loss(trace(tokens), next); });
}
void record_resnet50(io::JsonWriter& json, const RecordOptions& options) {
  constexpr std::int64_t batch = 256;
  const Tensor<bfloat16, Virtual> images({batch, 3, 224, 224});
  const Tensor<std::int64_t, Virtual> labels({batch});
  write_training(
      json, "resnet50", [&] { return models::resnet50<bfloat16, Virtual>({.channels_last = true}); }, options,
      [](const auto& m) { return sgd(m); }, [&](const auto& m) { return nn::cross_entropy(m(trace(images)), labels); });
}
/// The network of benchmarks/ddp.cpp.
void record_perceptron(io::JsonWriter& json, const RecordOptions& options) {
  using Linear = nn::Linear<float, Virtual>;
  using Network = nn::Sequential<float, Virtual>;
  const Tensor<float, Virtual> images({options.batch, 784});
  const Tensor<std::int64_t, Virtual> labels({options.batch});
  const auto build = [] {
    return Network{Linear{784, 1024}, nn::ReLU{}, Linear{1024, 1024}, nn::ReLU{}, Linear{1024, 10}};
  };
  write_training(
      json, "perceptron", build, options, [](const auto& m) { return sgd(m); },
      [&](const auto& m) { return nn::cross_entropy(m(trace(images)), labels); });
}

int record(int argc, char** argv) {
  const std::string name = argc > 1 ? argv[1] : "";
  RecordOptions options;
  dist::DistributedOptions& distributed = options.distributed;
  for (int i = 2; i + 1 < argc; i += 2) {
    const std::string option = argv[i];
    const auto number = std::atoll(argv[i + 1]);
    if (option == "--bucket-bytes") distributed.bucket_bytes = number;
    else if (option == "--first-bucket-bytes") distributed.first_bucket_bytes = number;
    else if (option == "--overlap") distributed.overlap = number != 0;
    else if (option == "--static-graph") distributed.static_graph = number != 0;
    else if (option == "--batch") options.batch = number;
    else if (option == "--ranks") options.ranks = static_cast<int>(number);
    else if (option == "--ranks-of-copy") options.ranks_of_copy = static_cast<int>(number);
    else if (option == "--sharded") options.is_sharded = number != 0;
    else fail<ArgumentError>({"record_steps: '", locus::detail::printable(option), "' is no option"});
  }
  dist::detail::require_ranks("record_steps", options.ranks);
  io::JsonWriter json;
  if (name == "gpt2") record_gpt2(json, options);
  else if (name == "resnet50") record_resnet50(json, options);
  else if (name == "perceptron") record_perceptron(json, options);
  else
    fail<ArgumentError>({"record_steps: '", locus::detail::printable(name),
                         "' is no workload; expected gpt2, resnet50 or perceptron, and then options: --bucket-bytes, "
                         "--first-bucket-bytes, --overlap, --static-graph, --sharded, --ranks, --ranks-of-copy, "
                         "--batch, each with a number"});
  std::puts(json.text().c_str());
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return record(argc, argv);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "record_steps: %s\n", error.what());
    return 1;
  }
}
