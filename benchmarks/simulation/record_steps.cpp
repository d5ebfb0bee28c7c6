// The program of one rank for a training step of each workload, as JSON: launches with their least bytes and their
// operations, collectives, and waits; and the bytes of its tensors. The code of training is the library's own, on a
// device that computes nothing.
//
//   record_steps perceptron > perceptron.json

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
void write_step(io::JsonWriter& json, const char* name, std::int64_t parameters, std::int64_t parameter_bytes,
                const Step& step) {
  step();  // the first pass agrees on gradients, and optimizers allocate their states
  const std::int64_t kept = memory_stats(Virtual{}).allocated_bytes;
  reset_peak_memory_stats(Virtual{});
  scaling::recording.begin();
  step();
  const auto program = scaling::recording.end();
  json.begin_object().member("name", name).member("parameters", parameters);
  json.member("parameter_bytes", parameter_bytes).member("kept_bytes", kept);
  json.member("peak_bytes", memory_stats(Virtual{}).peak_bytes).key("program");
  scaling::write(json, program);
  json.end_object();
}

template <class M, class Optimizer, class Loss>
void write_training(io::JsonWriter& json, const char* name, const M& model, const dist::DistributedOptions& options,
                    const Optimizer& optimizer_of, const Loss& loss_of) {
  const dist::Communicator<Virtual> comm(Shared<dist::Engine<Virtual>>(new scaling::RecordingEngine(0, 2)));
  const auto parallel = dist::distributed(model, comm, options);
  auto optimizer = optimizer_of(parallel);
  std::int64_t elements = 0, bytes = 0;
  for (const auto& parameter : parallel.parameters()) {
    elements += parameter.elements();
    bytes += parameter.elements() * static_cast<std::int64_t>(sizeof(value_of<M>));
  }
  write_step(json, name, elements, bytes, [&] {
    optimizer.zero_grad();
    loss_of(parallel).backward();
    optimizer.step();
  });
}

template <class M>
[[nodiscard]] auto adamw(const M& model) {
  return optim::AdamW(model.parameters(), {.lr = 1e-4});
}
template <class M>
[[nodiscard]] auto sgd(const M& model) {
  return optim::Sgd(model.parameters(), {.lr = 1e-3, .momentum = 0.9});
}

void record_gpt2(io::JsonWriter& json, const dist::DistributedOptions& options) {
  constexpr std::int64_t batch = 8, length = 2048;
  const auto model = models::gpt2<bfloat16, Virtual>({.n_positions = length,
                                                      .n_embd = 2048,
                                                      .n_layer = 24,
                                                      .n_head = 16,
                                                      .embd_pdrop = 0,
                                                      .attn_pdrop = 0,
                                                      .resid_pdrop = 0});
  const Tensor<std::int64_t, Virtual> tokens({batch, length}), next({batch, length});
  write_training(
      json, "gpt2", model, options, [](const auto& m) { return adamw(m); },
      [&](const auto&) { return model.loss(trace(tokens), next); });
}
void record_resnet50(io::JsonWriter& json, const dist::DistributedOptions& options) {
  constexpr std::int64_t batch = 256;
  const auto model = models::resnet50<bfloat16, Virtual>({.channels_last = true});
  const Tensor<bfloat16, Virtual> images({batch, 3, 224, 224});
  const Tensor<std::int64_t, Virtual> labels({batch});
  write_training(
      json, "resnet50", model, options, [](const auto& m) { return sgd(m); },
      [&](const auto& m) { return nn::cross_entropy(m(trace(images)), labels); });
}
/// The network of benchmarks/ddp.cpp.
void record_perceptron(io::JsonWriter& json, const dist::DistributedOptions& options, std::int64_t batch) {
  using Linear = nn::Linear<float, Virtual>;
  const nn::Sequential<float, Virtual> model{Linear{784, 1024}, nn::ReLU{}, Linear{1024, 1024}, nn::ReLU{},
                                             Linear{1024, 10}};
  const Tensor<float, Virtual> images({batch, 784});
  const Tensor<std::int64_t, Virtual> labels({batch});
  write_training(
      json, "perceptron", model, options, [](const auto& m) { return sgd(m); },
      [&](const auto& m) { return nn::cross_entropy(m(trace(images)), labels); });
}

int record(int argc, char** argv) {
  const std::string name = argc > 1 ? argv[1] : "";
  dist::DistributedOptions options;
  std::int64_t batch = 1024;
  for (int i = 2; i + 1 < argc; i += 2) {
    const std::string option = argv[i];
    const auto number = std::atoll(argv[i + 1]);
    if (option == "--bucket-bytes") options.bucket_bytes = number;
    else if (option == "--first-bucket-bytes") options.first_bucket_bytes = number;
    else if (option == "--overlap") options.overlap = number != 0;
    else if (option == "--static-graph") options.static_graph = number != 0;
    else if (option == "--batch") batch = number;
    else fail<ArgumentError>({"record_steps: '", locus::detail::printable(option), "' is no option"});
  }
  io::JsonWriter json;
  if (name == "gpt2") record_gpt2(json, options);
  else if (name == "resnet50") record_resnet50(json, options);
  else if (name == "perceptron") record_perceptron(json, options, batch);
  else
    fail<ArgumentError>({"record_steps: '", locus::detail::printable(name),
                         "' is no workload; expected gpt2, resnet50 or perceptron, and then options: --bucket-bytes, "
                         "--first-bucket-bytes, --overlap, --static-graph, --batch, each with a number"});
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
