// Collectives of dist::tcp and of Gloo over TCP, in turns: processes of this machine, float32, 1 KiB to 64 MiB.
//
//   gloo --ranks 2                         the time of each collective; all results are checked
//   gloo --ranks 3 --fault kill            the last rank is killed: what the others throw, and after how many seconds
//   gloo --ranks 3 --fault stall           the last rank stalls, with a time-out of 2 seconds

#include "../support/sampling.hpp"

#include <locus/core/system/temporary_file.hpp>
#include <locus/distributed/distributed.hpp>
#include <locus/tensor/factory.hpp>

#include <gloo/allgather.h>
#include <gloo/allreduce.h>
#include <gloo/broadcast.h>
#include <gloo/math.h>
#include <gloo/rendezvous/context.h>
#include <gloo/rendezvous/file_store.h>
#include <gloo/transport/tcp/device.h>
#include <CLI/CLI.hpp>

#include <sys/stat.h>

#include <csignal>
#include <cstdio>
#include <filesystem>

using namespace locus;

namespace {

constexpr const char* operations[] = {"all_reduce", "all_gather", "broadcast", "send and back"};

/// One rank of one library. run(operation, ...) makes a collective of `count` elements: x is the source, y the target,
/// of size() * count elements for all_gather.
class Library {
 public:
  virtual ~Library() = default;
  [[nodiscard]] virtual const char* name() const = 0;
  virtual void run(int operation, const Tensor<float>& x, const Tensor<float>& y) = 0;
  /// Of the last all_reduce, all_gather or broadcast.
  [[nodiscard]] virtual const Tensor<float>& result() const = 0;
};

class Tcp final : public Library {
 public:
  explicit Tcp(const dist::Communicator<Cpu>& comm) : comm_(comm) {}
  [[nodiscard]] const char* name() const override { return "dist::tcp"; }
  void run(int operation, const Tensor<float>& x, const Tensor<float>& y) override {
    if (operation == 0) result_ = comm_.all_reduced(x);
    if (operation == 1) result_ = comm_.all_gather(x);
    if (operation == 2) comm_.broadcast(result_ = x);
    const Tensor<float> back = y.slice(0, 0, x.elements());
    if (operation == 3 && comm_.rank() == 0) comm_.send(x, 1), comm_.recv(back, 1);
    if (operation == 3 && comm_.rank() == 1) comm_.recv(back, 0), comm_.send(back, 0);
  }
  [[nodiscard]] const Tensor<float>& result() const override { return result_; }

 private:
  dist::Communicator<Cpu> comm_;
  Tensor<float> result_{Shape{1}};
};

class Gloo final : public Library {
 public:
  Gloo(int rank, int size, const std::string& folder, double timeout)
      : context_(std::make_shared<gloo::rendezvous::Context>(rank, size)) {
    auto device = gloo::transport::tcp::CreateDevice("127.0.0.1");
    gloo::rendezvous::FileStore store(folder);
    context_->setTimeout(std::chrono::milliseconds(static_cast<int>(1000 * timeout)));
    context_->connectFullMesh(store, device);
  }
  [[nodiscard]] const char* name() const override { return "Gloo"; }
  void run(int operation, const Tensor<float>& x, const Tensor<float>& y) override {
    const auto count = static_cast<std::size_t>(x.elements());
    if (operation < 2) result_ = Tensor<float>({operation == 0 ? x.elements() : y.elements()});  // new, as there
    if (operation == 0) {
      gloo::AllreduceOptions options(context_);
      options.setInput(x.data(), count);
      options.setOutput(result_.data(), count);
      options.setReduceFunction(
          [](void* out, const void* a, const void* b, std::size_t n) { gloo::sum<float>(out, a, b, n); });
      gloo::allreduce(options);
    }
    if (operation == 1) {
      gloo::AllgatherOptions options(context_);
      options.setInput(x.data(), count);
      options.setOutput(result_.data(), count * static_cast<std::size_t>(context_->size));
      gloo::allgather(options);
    }
    if (operation == 2) {
      gloo::BroadcastOptions options(context_);
      options.setOutput((result_ = x).data(), count);
      options.setRoot(0);
      gloo::broadcast(options);
    }
    if (operation == 3 && context_->rank < 2) {
      const int peer = 1 - context_->rank;
      const auto sent = context_->createUnboundBuffer((peer == 1 ? x : y).data(), 4 * count),
                 received = context_->createUnboundBuffer(y.data(), 4 * count);
      if (peer == 1) sent->send(peer, 7), (void)sent->waitSend();
      received->recv(peer, 7);
      (void)received->waitRecv();
      if (peer == 0) sent->send(peer, 7), (void)sent->waitSend();
    }
  }

  [[nodiscard]] const Tensor<float>& result() const override { return result_; }

 private:
  std::shared_ptr<gloo::rendezvous::Context> context_;
  Tensor<float> result_{Shape{1}};
};

struct PeerOptions {
  int ranks = 2;
  std::int64_t least = 1 << 10, most = 64 << 20;
  int samples = 11;
  std::string fault{};
};

/// All operations and sizes, in turns; rank 0 prints a table.
void measure(const PeerOptions& options, const dist::Communicator<Cpu>& comm, Tcp& tcp, Gloo& other) {
  if (comm.rank() == 0)
    std::printf("%-14s %10s %14s %14s %10s\n", "operation", "bytes", "dist::tcp us", "Gloo us", "Gloo / tcp");
  for (int operation = 0; operation < 4; ++operation)
    for (std::int64_t bytes = options.least; bytes <= options.most; bytes *= 8) {
      const Tensor<float> x = full({bytes / 4}, static_cast<float>(comm.rank() + 1));
      const Tensor<float> y({comm.size() * bytes / 4});
      const std::int64_t calls = std::clamp<std::int64_t>((std::int64_t{4} << 20) / bytes, 1, 500);
      std::vector<double> seconds[2];
      for (int sample = 0; sample < options.samples; ++sample)
        for (Library* library : {static_cast<Library*>(&tcp), static_cast<Library*>(&other)}) {
          library->run(operation, x, y);
          comm.barrier();
          const Stopwatch watch;
          for (std::int64_t i = 0; i < calls; ++i) library->run(operation, x, y);
          seconds[library == &other].push_back(watch.seconds() / static_cast<double>(calls));
        }
      const float expected = operation == 0 ? static_cast<float>(comm.size() * (comm.size() + 1) / 2) : 1.f;
      for (const Library* library : {static_cast<Library*>(&tcp), static_cast<Library*>(&other)})
        if (operation < 3 && library->result().data()[0] != expected)
          fail<NumericError>({library->name(), ", ", operations[operation], ": an element is ",
                              library->result().data()[0], "; expected ", expected});
      const double ours = 1e6 * quantiles(seconds[0]).median, theirs = 1e6 * quantiles(seconds[1]).median;
      if (comm.rank() == 0)
        std::printf("%-14s %10lld %14.1f %14.1f %10.2f\n", operations[operation], static_cast<long long>(bytes), ours,
                    theirs, theirs / ours);
    }
}

/// The last rank is killed, or stalls, while the others sum.
void fail_in(const PeerOptions& options, int rank, Library& library) {
  const Tensor<float> x = ones({1 << 16}), y({1 << 16});
  library.run(0, x, y);
  if (rank + 1 == options.ranks) {
    if (options.fault == "kill") std::raise(SIGKILL);
    sleep(5);
  }
  const Stopwatch watch;
  try {
    for (;;) library.run(0, x, y);
  } catch (const std::exception& error) {
    std::printf("%s, rank %d, after %.2f s: %s\n", library.name(), rank, watch.seconds(), error.what());
  }
}

}  // namespace

int main(int argc, char** argv) {
  PeerOptions options;
  CLI::App app("Collectives of dist::tcp and of Gloo over TCP, in turns.");
  app.add_option("--ranks", options.ranks, "processes")->check(CLI::Range(2, 64));
  app.add_option("--min", options.least, "bytes of the smallest tensor")->check(CLI::Range(4, 1 << 30));
  app.add_option("--max", options.most, "bytes of the largest tensor: sizes grow by 8")->check(CLI::Range(4, 1 << 30));
  app.add_option("--samples", options.samples, "of each library, operation and size")->check(CLI::Range(1, 1000));
  app.add_option("--fault", options.fault, "of the last rank, in place of times")
      ->check(CLI::IsMember({"kill", "stall"}));
  CLI11_PARSE(app, argc, argv);
  const double timeout = options.fault == "stall" ? 2 : 60;
  const auto folder = std::filesystem::temp_directory_path() / ("gloo-" + std::to_string(getpid()));
  for (const char* const name : {"times", "dist::tcp", "Gloo"}) {
    if ((std::string_view(name) == "times") != options.fault.empty()) continue;
    std::filesystem::create_directory(folder);
    try {
      dist::spawn_processes<Cpu>(options.ranks,
                                 [&](const dist::Communicator<Cpu>& comm) {
                                   Tcp tcp(comm);
                                   if (std::string_view(name) == "dist::tcp") return fail_in(options, comm.rank(), tcp);
                                   const Stopwatch watch;
                                   Gloo other(comm.rank(), comm.size(), folder, timeout);
                                   if (comm.rank() == 0)
                                     std::printf("Gloo connects in %.1f ms\n", 1e3 * watch.seconds());
                                   if (options.fault.empty()) measure(options, comm, tcp, other);
                                   else fail_in(options, comm.rank(), other);
                                 },
                                 {.timeout = timeout});
    } catch (const std::exception& error) {
      std::printf("%s\n", error.what());
    }
    std::filesystem::remove_all(folder);
  }
}
