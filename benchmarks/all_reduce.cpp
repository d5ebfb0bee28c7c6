// all_reduce of float32 over ranks: its latency and bus bandwidth, from 1 KB to 1 GB.
//
//   all_reduce --ranks 4                                         ranks as threads of one process
//   mpirun -n 2 all_reduce --json all_reduce.json                processes as well, beside MPI_Allreduce: by MPI's
//                                                                collectives, and by messages of Locus, in rank order
//
// All variants are measured in turns. Bus bandwidth is the least traffic of a rank's link, 2 (n - 1) / n of the bytes,
// over the time, as in NCCL's tests. The sum of each variant is checked before its time counts.

#include "support/environment.hpp"
#include "support/output_file.hpp"
#include "support/sampling.hpp"

#include <locus/core/system/file.hpp>
#include <locus/distributed/distributed.hpp>
#include <locus/io/json.hpp>
#include <locus/tensor/factory.hpp>
#include <locus/tensor/random.hpp>

#include <CLI/CLI.hpp>

#include <algorithm>
#include <cmath>
#include <cstdio>

using namespace locus;

namespace {

struct AllReduceOptions {
  int ranks = 2;
  std::int64_t least = 1 << 10, most = 64 << 20;
  int samples = 11;
  bool is_in_place = false;
  std::string json{};
};

/// Time of one size in one variant.
struct Row {
  std::string way;
  int ranks;
  std::int64_t bytes;
  Quantiles seconds;
  double least;  ///< minimum of all samples: least disturbed by other load
  [[nodiscard]] double bus_bandwidth() const {
    return 2. * (ranks - 1) / ranks * static_cast<double>(bytes) / seconds.median;
  }
};

/// Calls in one sample: enough to hide the cost of the clock and the rendezvous.
[[nodiscard]] std::int64_t calls_of(std::int64_t bytes) {
  return std::clamp<std::int64_t>((std::int64_t{8} << 20) / bytes, 1, 1000);
}

/// A rank's elements: random, and equal in every run.
[[nodiscard]] Tensor<float> elements_of(int rank, std::int64_t bytes) {
  Generator<Cpu> generator{static_cast<std::uint64_t>(rank + 1)};
  return randn<float>({bytes / 4}, generator);
}

/// throws NumericError if the middle element of `sum` is not the sum over all ranks
void check_sum(const char* way, const Tensor<float>& sum, int ranks) {
  double expected = 0, size = 0;
  const std::int64_t at = sum.elements() / 2;
  for (int rank = 0; rank < ranks; ++rank) {
    const double x = static_cast<double>(elements_of(rank, 4 * sum.elements())(at));
    expected += x;
    size += std::fabs(x);
  }
  if (!(std::fabs(static_cast<double>(sum(at)) - expected) <= 1e-6 * size))
    fail<NumericError>({way, ": an element is ", static_cast<double>(sum(at)), "; expected ", expected});
}

/// A variant of all_reduce. All ranks call run at the same time; it returns the seconds of one call.
class Way {
 public:
  virtual ~Way() = default;
  virtual const char* name() const = 0;
  virtual int ranks() const = 0;
  virtual double run(std::int64_t bytes, std::int64_t calls) = 0;
};

/// Seconds of a call, of tensors that are reduced into new ones, or by their mean in place, as gradients are. A sample
/// begins after a barrier.
[[nodiscard]] double seconds_of_call(const dist::Communicator<Cpu>& comm, const char* way,
                                     const AllReduceOptions& options, std::int64_t bytes, std::int64_t calls) {
  const Tensor<float> x = elements_of(comm.rank(), bytes);
  Tensor<float> sum = comm.all_reduced(x);
  if (comm.rank() == 0) check_sum(way, sum, comm.size());
  comm.barrier();
  const Stopwatch watch;
  for (std::int64_t i = 0; i < calls; ++i) {
    if (options.is_in_place) comm.all_reduce(x, dist::mean);
    else sum = comm.all_reduced(x);
  }
  return watch.seconds() / static_cast<double>(calls);
}

/// Ranks as threads of this process.
class Threads final : public Way {
 public:
  Threads(int ranks, const AllReduceOptions& options) : ranks_(ranks), options_(options) {}
  const char* name() const override { return "locus, threads"; }
  int ranks() const override { return ranks_; }
  double run(std::int64_t bytes, std::int64_t calls) override {
    double seconds = 0;
    dist::spawn<Cpu>(ranks_, [&](const dist::Communicator<Cpu>& comm) {
      const double mine = seconds_of_call(comm, name(), options_, bytes, calls);
      if (comm.rank() == 0) seconds = mine;
    });
    return seconds;
  }

 private:
  int ranks_;
  const AllReduceOptions& options_;
};

#if LOCUS_MPI
class Processes final : public Way {
 public:
  Processes(const char* name, const dist::Communicator<Cpu>& comm, const AllReduceOptions& options)
      : name_(name), comm_(comm), options_(options) {}
  const char* name() const override { return name_; }
  int ranks() const override { return comm_.size(); }
  double run(std::int64_t bytes, std::int64_t calls) override {
    return seconds_of_call(comm_, name(), options_, bytes, calls);
  }

 private:
  const char* name_;
  dist::Communicator<Cpu> comm_;
  const AllReduceOptions& options_;
};

class MpiAllreduce final : public Way {
 public:
  explicit MpiAllreduce(const dist::Communicator<Cpu>& comm) : comm_(comm) {}
  const char* name() const override { return "MPI_Allreduce"; }
  int ranks() const override { return comm_.size(); }
  double run(std::int64_t bytes, std::int64_t calls) override {
    const Tensor<float> x = elements_of(comm_.rank(), bytes), sum({bytes / 4});
    const auto call = [&] {
      MPI_Allreduce(x.data(), sum.data(), static_cast<int>(bytes / 4), MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
    };
    call();
    check_sum(name(), sum, ranks());
    comm_.barrier();
    const Stopwatch watch;
    for (std::int64_t i = 0; i < calls; ++i) call();
    return watch.seconds() / static_cast<double>(calls);
  }

 private:
  dist::Communicator<Cpu> comm_;
};

/// Runs f on rank 0 while the other ranks sleep, so that it has all cores.
template <class F>
void on_rank_zero(const dist::Communicator<Cpu>& comm, const F& f) {
  if (comm.rank() == 0) f();
  MPI_Request request = MPI_REQUEST_NULL;
  MPI_Ibarrier(MPI_COMM_WORLD, &request);
  for (int is_done = 0; !is_done; MPI_Test(&request, &is_done, MPI_STATUS_IGNORE)) usleep(2000);
}
#endif

/// Measures all variants in turns. `alone` calls a function on one process only, for the variants marked true.
template <class Alone>
std::vector<Row> measure(const std::vector<std::pair<Way*, bool>>& ways, const AllReduceOptions& options,
                         const Alone& alone) {
  std::vector<Row> rows;
  for (std::int64_t bytes = options.least; bytes <= options.most; bytes *= 4) {
    std::vector<std::vector<double>> samples(ways.size());
    const int count = bytes > (64 << 20) ? 3 : options.samples;
    for (int sample = 0; sample < count; ++sample) {
      for (std::size_t i = 0; i < ways.size(); ++i) {
        const auto run = [&, i] { samples[i].push_back(ways[i].first->run(bytes, calls_of(bytes))); };
        if (ways[i].second) alone(run);
        else run();
      }
    }
    for (std::size_t i = 0; i < ways.size(); ++i)
      rows.push_back({ways[i].first->name(), ways[i].first->ranks(), bytes, quantiles(samples[i]),
                      samples[i].empty() ? 0 : *std::min_element(samples[i].begin(), samples[i].end())});
  }
  return rows;
}

void print(const std::vector<Row>& rows) {
  std::printf("%-16s %5s %12s %12s %12s %12s %12s %10s\n", "way", "ranks", "bytes", "us", "least", "p10", "p90",
              "GB/s");
  for (const Row& row : rows)
    std::printf("%-16s %5d %12lld %12.2f %12.2f %12.2f %12.2f %10.3f\n", row.way.c_str(), row.ranks,
                static_cast<long long>(row.bytes), 1e6 * row.seconds.median, 1e6 * row.least, 1e6 * row.seconds.p10,
                1e6 * row.seconds.p90, 1e-9 * row.bus_bandwidth());
}

void write(const std::string& path, const std::vector<Row>& rows) {
  const Environment e = host_environment();
  io::JsonWriter json;
  json.begin_object().member("benchmark", "all_reduce").key("environment").begin_object();
  json.member("date", e.date).member("commit", e.commit).member("compiler", e.compiler).member("cpu", e.cpu);
  json.member("cores", e.cores).end_object().key("rows").begin_array();
  for (const Row& row : rows) {
    json.begin_object().member("way", row.way).member("ranks", row.ranks).member("bytes", row.bytes);
    json.member("seconds", row.seconds.median)
        .member("least", row.least)
        .member("p10", row.seconds.p10)
        .member("p90", row.seconds.p90);
    json.member("samples", row.seconds.samples).member("bus_bandwidth", row.bus_bandwidth()).end_object();
  }
  json.end_array().end_object();
  io::write_file_atomically(path, json.text());
}

void measure_all(const AllReduceOptions& options) {
  Threads threads(options.ranks, options);
#if LOCUS_MPI
  const auto comm = dist::mpi<Cpu>();
  if (comm.size() > 1) {
    Threads as_many(comm.size(), options);
    Processes processes("locus, MPI", comm, options),
        messages("locus, messages", comm.with_sums(dist::Sums::in_rank_order), options);
    MpiAllreduce plain(comm);
    const auto rows = measure({{&processes, false}, {&messages, false}, {&plain, false}, {&as_many, true}}, options,
                              [&](const auto& run) { on_rank_zero(comm, run); });
    if (comm.rank() != 0) return;
    print(rows);
    if (!options.json.empty()) write(options.json, rows);
    return;
  }
#endif
  const auto rows = measure({{&threads, false}}, options, [](const auto& run) { run(); });
  print(rows);
  if (!options.json.empty()) write(options.json, rows);
}

}  // namespace

int main(int argc, char** argv) {
  AllReduceOptions options;
  CLI::App app("Latency and bus bandwidth of all_reduce, of threads and, under mpirun, of processes.");
  app.add_option("--ranks", options.ranks, "threads, where mpirun started no processes")->check(CLI::Range(1, 256));
  app.add_option("--min", options.least, "bytes of the smallest tensor")
      ->check(CLI::Range(std::int64_t{4}, std::int64_t{1} << 32))
      ->capture_default_str();
  app.add_option("--max", options.most, "bytes of the largest tensor: the sizes are quadrupled up to it")
      ->check(CLI::Range(std::int64_t{4}, std::int64_t{1} << 32))
      ->capture_default_str();
  app.add_option("--samples", options.samples, "of each way and size")->check(CLI::Range(1, 1000));
  app.add_flag("--in-place", options.is_in_place, "means in place, as of gradients, in place of sums into new tensors");
  app.add_option("--json", options.json, "write environment and measurements to this file")->check(check_target);
  CLI11_PARSE(app, argc, argv);
  try {
    if (options.least > options.most)
      fail<ArgumentError>({"--min is ", options.least, ", and --max ", options.most, "; expected no less than --min"});
    measure_all(options);
    return 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "all_reduce: %s\n", error.what());
    return 1;
  }
}
