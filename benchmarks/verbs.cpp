// Every kind of operation in Locus, beside other implementations, each checked against float64 before its time counts:
// products, linear layers, fused expressions, operations on rows, reductions, Adam, a training step, small operations,
// convolutions, attention, batch norm, lookups, transposes, networks, transfers.
//
//   verbs --device cpu                       a table of all of them
//   verbs --device cuda --only rows --json rows.json
//
// Each kind is a source in verbs/. On a GPU, operands are not in the cache; the results are the time between events,
// and the host's time to enqueue the work. scripts/gpu measures programs of other libraries in turns with this one.

#include "support/environment.hpp"
#include "support/sampling.hpp"
#include "support/verbs_options.hpp"
#include "verbs/measure.hpp"

#include <locus/core/system/file.hpp>
#include <locus/io/json.hpp>
#include <locus/select.hpp>

#include <cstdio>
#include <iostream>

#if LOCUS_CUDA
#include "verbs/gpu.hpp"
#endif

using namespace bench;
using locus::AnyDevice;
using locus::io::JsonWriter;

namespace {

template <class D>
Workloads workloads_on(Scale scale, D device) {
  Workloads all;
  add_products(all, scale, device);
  add_linear(all, scale, device);
  add_linear_bf16(all, scale, device);
  add_expressions(all, scale, device);
  add_rows(all, scale, device);
  add_reductions(all, scale, device);
  add_optimizer(all, scale, device);
  add_step(all, scale, device);
  add_small(all, scale, device);
  add_conv(all, scale, device);
  add_attention(all, scale, device);
  add_batch_norm(all, scale, device);
  add_embedding(all, scale, device);
  add_transposes(all, scale, device);
  add_networks(all, scale, device);
  return all;
}

Workloads all_workloads(const AnyDevice& device, Scale scale) {
  if (device.kind == AnyDevice::Kind::cpu) return workloads_on(scale, locus::Cpu{});
#if LOCUS_CUDA
  if (device.ordinal < locus::cuda::device_count()) {
    Workloads all = workloads_on(scale, locus::Cuda{device.ordinal});
    add_transfers(all, scale, locus::Cuda{device.ordinal});
    return all;
  }
#endif
  locus::cuda::require_device(device.ordinal);
  return {};
}

std::unique_ptr<Meter> meter_of([[maybe_unused]] const AnyDevice& device) {
#if LOCUS_CUDA
  if (device.kind == AnyDevice::Kind::cuda) return gpu_meter(device.ordinal);
#endif
  return cpu_meter();
}

Environment environment_of([[maybe_unused]] const AnyDevice& device) {
  Environment environment = host_environment();
  environment.threads = locus::cpu::max_threads();
#if LOCUS_CUDA
  if (device.kind == AnyDevice::Kind::cuda) {
    const GpuFacts facts = gpu_facts(device.ordinal);
    environment.gpu = facts.name;
    environment.cuda = facts.toolkit;
    environment.driver = facts.driver;
  }
#endif
  return environment;
}

/// Writes the description of a workload, from which programs of other libraries repeat it.
void write_work(JsonWriter& json, const Workload& w) {
  json.member("name", w.name()).member("group", w.group).member("operation", w.operation).member("dtype", w.dtype);
  json.key("sizes").begin_array();
  for (const std::int64_t size : w.sizes) json.value(size);
  json.end_array().member("bytes", w.bytes).member("flops", w.flops);
}

void write_samples(JsonWriter& json, const char* name, const std::vector<double>& samples) {
  if (samples.empty()) return;
  json.key(name).begin_array();
  for (const double seconds : samples) json.value(seconds);
  json.end_array();
}

void write_results(JsonWriter& json, const Measurement& measurement) {
  json.key("variants").begin_object();
  for (const auto& result : measurement.results()) {
    json.key(result.variant.name).begin_object();
    json.member("bytes", result.variant.bytes > 0 ? result.variant.bytes : measurement.workload().bytes);
    json.member("runs_per_sample", result.times).member("error", result.error).member("problem", result.problem);
    const bool counts = result.problem.empty();
    write_samples(json, "wall", counts ? result.samples.wall : std::vector<double>{});
    write_samples(json, "gpu", counts ? result.samples.gpu : std::vector<double>{});
    write_samples(json, "host", counts ? result.samples.host : std::vector<double>{});
    json.end_object();
  }
  json.end_object();
}

/// Prints JSON in one line: its strings contain no new lines.
void answer(const JsonWriter& json) {
  std::string line;
  for (const char c : json.text())
    if (c != '\n') line += c;
  std::printf("%s\n", line.c_str());
  std::fflush(stdout);
}

void write_environment(JsonWriter& json, const Environment& e) {
  json.key("environment").begin_object();
  write_members(json, e).end_object();
}

/// Lists all workloads, then measures the workload that each line of the input names. The last workload stays in
/// memory, for the next turn.
void serve(const VerbsOptions& options, const Workloads& workloads, Meter& meter, const Environment& environment) {
  JsonWriter list;
  list.begin_object();
  write_environment(list, environment);
  list.key("workloads").begin_array();
  for (const auto& w : workloads) {
    list.begin_object();
    write_work(list, w);
    list.end_object();
  }
  list.end_array().end_object();
  answer(list);

  std::unique_ptr<Measurement> current;
  for (std::string name; std::getline(std::cin, name);) {
    if (!current || current->workload().name() != name) {
      current.reset();
      for (const auto& w : workloads)
        if (w.name() == name) current = std::make_unique<Measurement>(w, meter, options.sample_seconds);
    }
    if (!current) locus::fail<locus::ArgumentError>({"there is no workload '", name, "'"});
    current->take(options.turns);
    JsonWriter json;
    json.begin_object().member("name", name);
    write_results(json, *current);
    json.end_object();
    answer(json);
  }
}

std::string rate(const Measurement& measurement, const Measurement::Result& result, double seconds) {
  const Workload& w = measurement.workload();
  const bool computes = w.flops > 20 * w.bytes && result.variant.bytes == 0;
  const double amount = computes ? w.flops : result.variant.bytes > 0 ? result.variant.bytes : w.bytes;
  char text[32];
  std::snprintf(text, sizeof text, "%9.1f %s", 1e-9 * amount / seconds, computes ? "GFLOP/s" : "GB/s");
  return text;
}

void print(const Measurement& measurement) {
  for (const auto& result : measurement.results()) {
    std::printf("%-46s %-14s", measurement.workload().name().c_str(), result.variant.name.c_str());
    if (!result.problem.empty()) {
      std::printf(" %s\n", result.problem.c_str());
      continue;
    }
    const Quantiles time = quantiles(result.samples.gpu.empty() ? result.samples.wall : result.samples.gpu);
    std::printf(" %12.3f %12.3f %12.3f  %s", 1e6 * time.median, 1e6 * time.p10, 1e6 * time.p90,
                rate(measurement, result, time.median).c_str());
    if (!result.samples.host.empty()) std::printf("  host %.2f", 1e6 * quantiles(result.samples.host).median);
    std::printf("\n");
  }
  std::fflush(stdout);
}

/// Measures, prints and writes all selected workloads; false if a result is wrong.
bool measure_all(const VerbsOptions& options, const Workloads& workloads, Meter& meter,
                 const Environment& environment) {
  std::printf("%-46s %-14s %12s %12s %12s\n", "workload", "", "median, us", "p10", "p90");
  JsonWriter json;
  json.begin_object().member("benchmark", "verbs");
  write_environment(json, environment);
  json.key("workloads").begin_array();
  bool right = true;
  for (const auto& w : workloads) {
    if (w.name().find(options.only) == std::string::npos) continue;
    Measurement measurement(w, meter, options.sample_seconds);
    measurement.take(options.turns);
    print(measurement);
    json.begin_object();
    write_work(json, w);
    write_results(json, measurement);
    json.end_object();
    for (const auto& result : measurement.results()) right = right && !result.problem.starts_with("wrong");
  }
  json.end_array().end_object();
  if (!options.json.empty()) locus::io::write_file_atomically(options.json, json.text());
  return right;
}

}  // namespace

int main(int argc, char** argv) try {
  const VerbsOptions options(argc, argv);
  if (options.finished) return options.exit_code;
  const AnyDevice device = locus::parse_device(options.device);
  if (options.threads) locus::cpu::set_max_threads(options.threads);
  const Workloads workloads = all_workloads(device, options.tiny ? Scale::tiny : Scale::full);
  const auto meter = meter_of(device);
  const Environment environment = environment_of(device);
  if (options.serve) serve(options, workloads, *meter, environment);
  else if (!measure_all(options, workloads, *meter, environment)) return 1;
} catch (const locus::Error& error) {
  std::cerr << "verbs: " << error.what() << "\n";
  return 1;
}
