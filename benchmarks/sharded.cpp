// Memory of a rank, and tokens per second, of a GPT-2 that ranks train: whole on each of them, or divided.
//
//   sharded --ranks 4                        processes of this machine, 124 million parameters
//   sharded --ranks 2 --layers 2 --width 64  a smaller one
//
// Each rank has its own batch. Memory is that of tensors, from the first step on; the model is built whole on each rank
// before. All ways are measured in turns. Compiled by nvcc, it measures GPUs.

#include "support/environment.hpp"
#include "support/output_file.hpp"
#include "support/sampling.hpp"

#include <locus/core/system/file.hpp>
#include <locus/distributed/distributed.hpp>
#include <locus/io/json.hpp>
#include <locus/locus.hpp>
#include <locus/models/gpt2.hpp>

#include <CLI/CLI.hpp>

#include <cmath>
#include <cstdio>

using namespace locus;

namespace {

#if LOCUS_NVCC
using D = Cuda;
#else
using D = Cpu;
#endif

struct ShardedPlan {
  int ranks = 2;
  std::int64_t layers = 12, width = 768, vocabulary = 50257, batch = 1, length = 64;
  int steps = 2, samples = 3;
  std::string json{};

  [[nodiscard]] models::GPT2Options gpt2() const {
    return {.vocab_size = vocabulary, .n_positions = 1024, .n_embd = width, .n_layer = layers, .n_head = width / 64};
  }
};
enum class Way { whole, sharded, kept };
constexpr const char* name_of(Way way) {
  constexpr const char* names[] = {"dist::distributed", "dist::sharded", "dist::sharded, .gather_again = false"};
  return names[static_cast<int>(way)];
}
/// What rank 0 measures.
struct Measured {
  double seconds = 0;
  std::int64_t parameters = 0, kept_bytes = 0, peak_bytes = 0;
};
template <class M, class Loss>
[[nodiscard]] Measured train(const M& model, const Loss& loss_of, const dist::Communicator<D>& comm,
                             const ShardedPlan& plan) {
  const D device = comm.device();
  optim::AdamW<float, D> optimizer{model.parameters(), {.lr = 1e-4}};
  const auto text = randint<std::int64_t, D>(0, plan.vocabulary, {plan.batch, plan.length + 1}, device);
  const auto tokens = text.slice(1, 0, plan.length).contiguous(), next = text.slice(1, 1).contiguous();
  float shown = 0;
  const auto step = [&] {
    optimizer.zero_grad();
    const auto loss = loss_of(trace(tokens), next);
    loss.backward();
    (void)optim::clip_grad_norm_(model.parameters(), 1);
    optimizer.step();
    shown = loss.item();
  };
  Backend<D>::restart_peak(device, 0);
  step();
  comm.barrier();
  const Stopwatch watch;
  for (int i = 0; i < plan.steps; ++i) step();
  comm.barrier();
  if (!std::isfinite(shown)) fail<NumericError>({"sharded: the loss is ", static_cast<double>(shown)});
  const MemoryStats memory = memory_stats(device);
  return {watch.seconds() / plan.steps, 0, memory.allocated_bytes, memory.peak_bytes};
}
[[nodiscard]] Measured measured(Way way, const dist::Communicator<D>& comm, const ShardedPlan& plan) {
  auto model = models::gpt2<float, D>(plan.gpt2(), comm.device());
  std::int64_t bytes = 0;
  for (const auto& p : model.parameters()) bytes += 4 * p.elements();
  Measured result;
  if (way == Way::whole) {
    const auto parallel = dist::distributed(model, comm);
    result = train(
        parallel, [&](const auto& x, const auto& y) { return model.loss(x, y); }, comm, plan);
  } else {
    const auto divided = dist::sharded(model, comm, {.gather_again = way == Way::sharded});
    const auto loss_of = [&](const auto& x, const auto& y) {
      return divided.call([&](const auto& net) { return net.loss(x, y); });
    };
    result = train(divided, loss_of, comm, plan);
  }
  result.parameters = bytes;
  return result;
}
constexpr double megabytes(std::int64_t bytes) { return 1e-6 * static_cast<double>(bytes); }

void report(const std::vector<std::vector<Measured>>& ways, const ShardedPlan& plan) {
  const Environment e = host_environment();
  io::JsonWriter json;
  json.begin_object().member("benchmark", "sharded").key("environment").begin_object();
  json.member("date", e.date).member("commit", e.commit).member("compiler", e.compiler).member("cpu", e.cpu);
  json.member("cores", e.cores).member("device", to_string(D{})).end_object();
  json.member("ranks", plan.ranks).member("batch", plan.batch).member("length", plan.length);
  json.member("parameters_mb", megabytes(ways[0][0].parameters)).key("rows").begin_array();
  std::printf("%d ranks, %.0f MB of parameters\n%-36s %12s %12s %10s %10s\n", plan.ranks,
              megabytes(ways[0][0].parameters), "way", "kept MB", "peak MB", "s a step", "tokens/s");
  for (std::size_t way = 0; way < ways.size(); ++way) {
    std::vector<double> samples;
    for (const Measured& one : ways[way]) samples.push_back(one.seconds);
    const Quantiles seconds = quantiles(samples);
    const double tokens = static_cast<double>(plan.ranks * plan.batch * plan.length) / seconds.median;
    const Measured& memory = ways[way].back();
    std::printf("%-36s %12.0f %12.0f %10.3f %10.1f\n", name_of(static_cast<Way>(way)), megabytes(memory.kept_bytes),
                megabytes(memory.peak_bytes), seconds.median, tokens);
    json.begin_object().member("way", name_of(static_cast<Way>(way)));
    json.member("kept_mb", megabytes(memory.kept_bytes)).member("peak_mb", megabytes(memory.peak_bytes));
    json.member("seconds", seconds.median).member("p10", seconds.p10).member("p90", seconds.p90);
    json.member("samples", seconds.samples).member("tokens_per_second", tokens).end_object();
  }
  json.end_array().end_object();
  if (!plan.json.empty()) io::write_file_atomically(plan.json, json.text());
}
void measure_all(const ShardedPlan& plan) {
  dist::spawn_processes<D>(plan.ranks, [&](const dist::Communicator<D>& comm) {
    std::vector<std::vector<Measured>> ways(3);
    for (int sample = 0; sample < plan.samples; ++sample)
      for (const Way way : {Way::whole, Way::sharded, Way::kept})
        ways[static_cast<std::size_t>(way)].push_back(measured(way, comm, plan));
    if (comm.rank() == 0) report(ways, plan);
  });
}

}  // namespace

int main(int argc, char** argv) {
  ShardedPlan plan;
  CLI::App app("Memory and tokens per second of a GPT-2 that ranks train, whole on each or divided.");
  const auto count = [&](const char* name, auto& value, const char* text, int most) {
    app.add_option(name, value, text)->check(CLI::Range(1, most))->capture_default_str();
  };
  count("--ranks", plan.ranks, "processes", 64);
  count("--layers", plan.layers, "of the model", 96);
  count("--width", plan.width, "of the model; a multiple of 64", 1 << 14);
  count("--vocabulary", plan.vocabulary, "of the model", 1 << 20);
  count("--batch", plan.batch, "windows of each rank", 1 << 10);
  count("--length", plan.length, "tokens of a window", 1024);
  count("--steps", plan.steps, "in each sample", 10000);
  count("--samples", plan.samples, "of each way", 1000);
  app.add_option("--json", plan.json, "write environment and measurements to this file")->check(check_target);
  CLI11_PARSE(app, argc, argv);
  try {
    if (plan.width % 64 != 0) fail<ArgumentError>({"--width is ", plan.width, "; expected a multiple of 64"});
    measure_all(plan);
    return 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "sharded: %s\n", error.what());
    return 1;
  }
}
