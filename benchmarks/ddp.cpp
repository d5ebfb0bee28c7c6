// Images per second of data-parallel training over ranks, with and without overlap of reduction and backward pass.
//
//   ddp --ranks 2                                ranks as threads of one process
//   mpirun -n 2 ddp --json ddp.json              processes
//
// Each rank has its own batch, so that n ranks train n times the images of one rank. All variants are measured in
// turns: one rank without reduction, all ranks without reduction, then all ranks with and without overlap; where ranks
// are threads, also dist::DataParallel with a replica for each rank, in one process and on as many images. Compiled by
// nvcc, it measures GPUs.

#include "support/environment.hpp"
#include "support/output_file.hpp"
#include "support/sampling.hpp"

#include <locus/core/system/file.hpp>
#include <locus/distributed/distributed.hpp>
#include <locus/io/json.hpp>
#include <locus/locus.hpp>

#include <CLI/CLI.hpp>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <optional>

using namespace locus;

namespace {

#if LOCUS_NVCC
using D = Cuda;
#else
using D = Cpu;
#endif

struct DdpOptions {
  int ranks = 2;
  std::int64_t batch = 64, width = 1024;
  std::int64_t steps = 8;
  int samples = 11;
  std::int64_t bucket_bytes = dist::DistributedOptions{}.bucket_bytes;
  std::int64_t first_bucket_bytes = dist::DistributedOptions{}.first_bucket_bytes;
  bool by_messages = false;
  std::string json{};
};

struct Row {
  std::string way;
  int ranks;
  bool overlap;
  std::int64_t batch, gradient_bytes, bucket_bytes, first_bucket_bytes;
  Quantiles seconds;  ///< of one step
  double least;       ///< minimum of all samples: least disturbed by other load
  [[nodiscard]] double images_per_second() const { return static_cast<double>(ranks * batch) / seconds.median; }
};

using Network = nn::Sequential<float, D>;

[[nodiscard]] Network network(const DdpOptions& options) {
  return Network{nn::Linear<float, D>{784, options.width}, nn::ReLU{},
                 nn::Linear<float, D>{options.width, options.width}, nn::ReLU{},
                 nn::Linear<float, D>{options.width, 10}};
}
[[nodiscard]] std::int64_t gradient_bytes(const DdpOptions& options) {
  std::int64_t elements = 0;
  for (const auto& parameter : network(options).parameters()) elements += parameter.elements();
  return 4 * elements;
}

/// Training steps of one rank. M is the network, or its Distributed wrapper.
template <class M>
class Training {
 public:
  Training(M model, D device, std::int64_t batch)
      : model_(std::move(model)),
        optimizer_(model_.parameters(), {.lr = 1e-3, .momentum = 0.9}),
        images_(randn<float, D>({batch, 784}, device)),
        labels_(randint<std::int64_t, D>(0, 10, {batch}, device)) {}

  void step() {
    optimizer_.zero_grad();
    nn::cross_entropy(model_(trace(images_)), labels_).backward();
    optimizer_.step();
  }
  /// Waits for the device.
  void finish() const { Stream<D>::current(images_.device()).synchronize(); }
  /// throws NumericError if the loss is not finite
  void check() const {
    const float loss = nn::cross_entropy(model_(images_), labels_).item();
    if (!std::isfinite(loss)) fail<NumericError>({"ddp: the loss is ", static_cast<double>(loss)});
  }

 private:
  M model_;
  optim::Sgd<float, D> optimizer_;
  Tensor<float, D> images_;
  Tensor<std::int64_t, D> labels_;
};

/// Seconds of a step of this rank; all ranks begin together, at meet().
template <class M, class Meet>
[[nodiscard]] double seconds_of_step(Training<M>& training, std::int64_t steps, const Meet& meet) {
  training.step();
  training.finish();
  meet();
  const Stopwatch watch;
  for (std::int64_t i = 0; i < steps; ++i) training.step();
  training.finish();
  meet();
  const double seconds = watch.seconds() / static_cast<double>(steps);
  training.check();
  return seconds;
}

[[nodiscard]] double alone(const DdpOptions& options) {
  Training<Network> training(network(options), D{}, options.batch);
  return seconds_of_step(training, options.steps, [] {});
}
/// Seconds of a step of one model with as many replicas as there are ranks; its batch is all ranks'.
[[nodiscard]] double replicated(const DdpOptions& options) {
  std::vector<D> places(static_cast<std::size_t>(options.ranks));
#if LOCUS_NVCC
  for (int rank = 0; rank < options.ranks; ++rank)
    places[static_cast<std::size_t>(rank)] = Cuda{rank % cuda::device_count()};
#endif
  Training<dist::DataParallel<Network>> training(dist::DataParallel<Network>(network(options), places), D{},
                                                 options.ranks * options.batch);
  return seconds_of_step(training, options.steps, [] {});
}
/// How ranks reduce their gradients.
enum class Reduces { nothing, beside_backward, after_backward };

/// Seconds of a step of one rank among several.
[[nodiscard]] double distributed(const dist::Communicator<D>& comm, const DdpOptions& options, Reduces reduces) {
  Network model = network(options);
  if constexpr (!std::is_same_v<D, Cpu>) model = std::move(model).to(comm.device());
  const auto meet = [&] { comm.barrier(); };
  if (reduces == Reduces::nothing) {
    Training<Network> training(model, comm.device(), options.batch);
    return seconds_of_step(training, options.steps, meet);
  }
  const dist::DistributedOptions how{.bucket_bytes = options.bucket_bytes,
                                     .first_bucket_bytes = options.first_bucket_bytes,
                                     .overlap = reduces == Reduces::beside_backward};
  Training<dist::Distributed<Network>> training(dist::distributed(model, comm, how), comm.device(), options.batch);
  return seconds_of_step(training, options.steps, meet);
}
[[nodiscard]] double threads(const DdpOptions& options, Reduces reduces) {
  double seconds = 0;
  dist::spawn<D>(options.ranks, [&](const dist::Communicator<D>& comm) {
    const double mine = distributed(comm, options, reduces);
    if (comm.rank() == 0) seconds = mine;
  });
  return seconds;
}

void print(const std::vector<Row>& rows) {
  std::printf("%-16s %5s %8s %10s %10s %10s %12s %10s\n", "way", "ranks", "overlap", "ms", "p10", "p90", "images/s",
              "of linear");
  const double one = rows[0].images_per_second();
  for (const Row& row : rows)
    std::printf("%-16s %5d %8s %10.3f %10.3f %10.3f %12.0f %10.3f\n", row.way.c_str(), row.ranks,
                row.overlap              ? "on"
                : row.way == rows[2].way ? "off"
                                         : "-",
                1e3 * row.seconds.median, 1e3 * row.seconds.p10, 1e3 * row.seconds.p90, row.images_per_second(),
                row.images_per_second() / one / row.ranks);
  std::printf("overlap on is %.3f times as fast as off\n", rows[2].seconds.median / rows[1].seconds.median);
}

void write(const std::string& path, const std::vector<Row>& rows) {
  const Environment e = host_environment();
  io::JsonWriter json;
  json.begin_object().member("benchmark", "ddp").key("environment").begin_object();
  json.member("date", e.date).member("commit", e.commit).member("compiler", e.compiler).member("cpu", e.cpu);
  json.member("cores", e.cores).member("device", to_string(D{})).end_object().key("rows").begin_array();
  for (const Row& row : rows) {
    json.begin_object().member("way", row.way).member("ranks", row.ranks).member("overlap", row.overlap);
    json.member("batch", row.batch).member("gradient_bytes", row.gradient_bytes);
    json.member("bucket_bytes", row.bucket_bytes).member("first_bucket_bytes", row.first_bucket_bytes);
    json.member("seconds", row.seconds.median)
        .member("least", row.least)
        .member("p10", row.seconds.p10)
        .member("p90", row.seconds.p90)
        .member("samples", row.seconds.samples);
    json.member("images_per_second", row.images_per_second()).end_object();
  }
  json.end_array().end_object();
  io::write_file_atomically(path, json.text());
}

/// `run(reduces)` samples all ranks; `lone()` samples a single rank, in this process only. `replicas()` samples
/// replicas, or returns nothing.
template <class Lone, class Run, class Replicas>
[[nodiscard]] std::vector<Row> measure(const char* way, int ranks, const DdpOptions& options, const Lone& lone,
                                       const Run& run, const Replicas& replicas) {
  std::vector<double> single, on, off, apart, together;
  for (int sample = 0; sample < options.samples; ++sample) {
    single.push_back(lone());
    on.push_back(run(Reduces::beside_backward));
    off.push_back(run(Reduces::after_backward));
    apart.push_back(run(Reduces::nothing));
    if (const std::optional<double> seconds = replicas()) together.push_back(*seconds);
  }
  const std::int64_t bytes = gradient_bytes(options);
  const auto row = [&](const char* name, int count, bool overlap, const std::vector<double>& samples) -> Row {
    const double least = samples.empty() ? 0 : *std::min_element(samples.begin(), samples.end());
    return {name,
            count,
            overlap,
            options.batch,
            bytes,
            options.bucket_bytes,
            options.first_bucket_bytes,
            quantiles(samples),
            least};
  };
  std::vector<Row> rows{row("one rank", 1, false, single), row(way, ranks, true, on), row(way, ranks, false, off),
                        row("no reduction", ranks, false, apart)};
  if (!together.empty()) rows.push_back(row("DataParallel", ranks, false, together));
  return rows;
}

void measure_all(const DdpOptions& options) {
  std::vector<Row> rows;
#if LOCUS_MPI
  const auto comm = dist::mpi<D>({.sums = options.by_messages ? dist::Sums::in_rank_order : dist::Sums::fastest});
  if (comm.size() > 1) {
    rows = measure(
        "MPI", comm.size(), options,
        [&] {
          const double seconds = comm.rank() == 0 ? alone(options) : 0;
          MPI_Request request = MPI_REQUEST_NULL;  // the other ranks sleep meanwhile
          MPI_Ibarrier(MPI_COMM_WORLD, &request);
          for (int is_done = 0; !is_done; MPI_Test(&request, &is_done, MPI_STATUS_IGNORE)) usleep(2000);
          return seconds;
        },
        [&](Reduces reduces) { return distributed(comm, options, reduces); },
        []() -> std::optional<double> { return {}; });
    if (comm.rank() != 0) return;
  }
#endif
  if (rows.empty())
    rows = measure(
        "threads", options.ranks, options, [&] { return alone(options); },
        [&](Reduces reduces) { return threads(options, reduces); },
        [&]() -> std::optional<double> { return replicated(options); });
  print(rows);
  if (!options.json.empty()) write(options.json, rows);
}

}  // namespace

int main(int argc, char** argv) {
  DdpOptions options;
  CLI::App app("Images per second of data-parallel training over threads and, under mpirun, processes.");
  app.add_option("--ranks", options.ranks, "threads, where mpirun started no processes")->check(CLI::Range(1, 64));
  app.add_option("--batch", options.batch, "images of each rank")->check(CLI::Range(1, 1 << 16))->capture_default_str();
  app.add_option("--width", options.width, "of the two hidden layers")
      ->check(CLI::Range(1, 1 << 14))
      ->capture_default_str();
  app.add_option("--steps", options.steps, "in each sample")->check(CLI::Range(1, 10000))->capture_default_str();
  app.add_option("--samples", options.samples, "of each way")->check(CLI::Range(1, 1000))->capture_default_str();
  app.add_option("--bucket-bytes", options.bucket_bytes, "DistributedOptions::bucket_bytes")
      ->check(CLI::Range(std::int64_t{1}, std::int64_t{1} << 40))
      ->capture_default_str();
  app.add_option("--first-bucket-bytes", options.first_bucket_bytes, "DistributedOptions::first_bucket_bytes")
      ->check(CLI::Range(std::int64_t{1}, std::int64_t{1} << 40))
      ->capture_default_str();
  app.add_flag("--messages", options.by_messages, "processes sum in rank order, by messages, not by MPI's collectives");
  app.add_option("--json", options.json, "write environment and measurements to this file")->check(check_target);
  CLI11_PARSE(app, argc, argv);
  try {
    measure_all(options);
    return 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "ddp: %s\n", error.what());
    return 1;
  }
}
