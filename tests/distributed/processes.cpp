// The process that processes_test.py starts: every collective, or a fault. Ends with 0 if all is as expected.

#include <locus/distributed/distributed.hpp>
#include <locus/io/run_record.hpp>
#include <locus/tensor/factory.hpp>

#include <support/collectives.hpp>
#include <support/rank_numbers.hpp>
#include <support/schooling.hpp>
#include <support/sharded_training.hpp>
#include <support/spread_training.hpp>
#include <support/synchronized.hpp>

#include <csignal>
#include <cstdio>
#include <memory>
#include <string_view>

using namespace locus;
using namespace locus_test;

namespace {
int calls_of_mpi = 0;           ///< that combine or move elements
bool mpi_shall_refuse = false;  ///< the next MPI_Iallreduce
}  // namespace

#if LOCUS_MPI
// The profiling interface of MPI: these functions stand in front of MPI's.
extern "C" {
int MPI_Iallreduce(const void* from, void* to, int count, MPI_Datatype type, MPI_Op op, MPI_Comm all,
                   MPI_Request* request) {
  ++calls_of_mpi;
  if (mpi_shall_refuse) return MPI_ERR_COUNT;
  return PMPI_Iallreduce(from, to, count, type, op, all, request);
}
int MPI_Ireduce(const void* from, void* to, int count, MPI_Datatype type, MPI_Op op, int root, MPI_Comm all,
                MPI_Request* request) {
  ++calls_of_mpi;
  return PMPI_Ireduce(from, to, count, type, op, root, all, request);
}
int MPI_Ireduce_scatter_block(const void* from, void* to, int count, MPI_Datatype type, MPI_Op op, MPI_Comm all,
                              MPI_Request* request) {
  ++calls_of_mpi;
  return PMPI_Ireduce_scatter_block(from, to, count, type, op, all, request);
}
int MPI_Ibcast(void* data, int count, MPI_Datatype type, int root, MPI_Comm all, MPI_Request* request) {
  ++calls_of_mpi;
  return PMPI_Ibcast(data, count, type, root, all, request);
}
int MPI_Iallgather(const void* from, int count, MPI_Datatype type, void* to, int others, MPI_Datatype other,
                   MPI_Comm all, MPI_Request* request) {
  ++calls_of_mpi;
  return PMPI_Iallgather(from, count, type, to, others, other, all, request);
}
}
#endif

namespace {

/// One rank of the processes that mpirun started, or that meet at an address of the environment.
dist::Communicator<Cpu> connect(const dist::Options& options = {}) {
  return std::getenv("RANK") ? dist::tcp<Cpu>(options) : dist::mpi<Cpu>(options);
}

/// Before they meet, processes draw the same numbers; then each its own, as ranks that are threads do.
void check_numbers() {
  manual_seed(11);
  const Tensor<float> before = rand({6});
  const auto comm = connect();
  const Tensor<float> most = comm.all_reduced(before, dist::max), least = comm.all_reduced(before, dist::min);
  if (std::memcmp(most.data(), least.data(), 6 * sizeof(float)) != 0)
    wrong("processes drew different numbers before they were ranks");
  check_rank_numbers(comm.rank());
  (void)connect();  // not anew
  manual_seed(11);
  const Tensor<float> again = rand({6});
  if (std::memcmp(before.data(), again.data(), 6 * sizeof(float)) != 0) wrong("a seed is not that of all ranks");
}

/// Ranks train a model as one process does.
void check_training() {
  const auto comm = connect();
  Schooling plan{.ranks = comm.size(), .parts = 2, .forks = true, .uneven = true};
  plan.options.weigh_by_samples = true;
  const auto values = values_of_rank(comm, forked_models(comm.size())[static_cast<std::size_t>(comm.rank())], plan);
  const double distance = relative_distance(values, values_of_one<Cpu>(plan));
  if (!(distance < 1e-6)) wrong(join("parameters differ by ", distance, " from those of one process"));
  require_same_bits("parameters", comm, from(values));
}

/// Throws in the middle of the second backward pass, on one rank.
void train_until_fault(const dist::Communicator<Cpu>& comm, int culprit) {
  const auto parallel = dist::distributed(forked_models(1)[0], comm, {.first_bucket_bytes = 1});
  for (int pass = 0; pass < 3; ++pass) {
    const auto hook = parallel.parameters()[0].on_gradient([&](const auto&) {
      if (pass == 1 && comm.rank() == culprit) throw std::runtime_error("out of luck");
    });
    backward(parallel, ones({2, 6}), 0, 1);
  }
}

/// Messages of more bytes than MPI takes at once.
void check_chunks() {
#if LOCUS_MPI
  if (std::getenv("RANK")) return;
  const auto options = dist::detail::from_environment({});
  const dist::Communicator<Cpu> comm(
      Shared<dist::Engine<Cpu>>(new dist::MpiEngine<Cpu>(MPI_COMM_WORLD, {}, options, 1000)));
  check_reductions<float>(comm, 2001, dist::sum);
  check_moves<float>(comm, 2001);
  check_moves<std::uint8_t>(comm, 1000);
  check_moves<std::uint8_t>(comm, 1001);
#endif
}

/// MPI makes collectives itself, except those that it would make otherwise.
void check_collectives_of_mpi() {
#if LOCUS_MPI
  const auto comm = connect();
  if (std::getenv("RANK") || comm.size() == 1) return;
  if (const io::RunRecord record = io::run_record(); record.get("MPI").empty() || record.get("MPI").size() > 60)
    wrong(join("the record has MPI '", record.get("MPI"), "'"));
  const auto expect = [](const char* what, int calls, const auto& f) {
    calls_of_mpi = 0;
    f();
    if (calls_of_mpi != calls) wrong(join(what, ": ", calls_of_mpi, " calls of MPI, expected ", calls));
  };
  const Tensor<float> x = ones({100}), rows = ones({comm.size(), 100});
  const auto in_order = comm.with_sums(dist::Sums::in_rank_order);
  expect("sum", 1, [&] { comm.all_reduce(x); });
  expect("mean of bfloat16", 1, [&] { (void)comm.all_reduced(ones({100}).as<bfloat16>(), dist::mean); });
  expect("reduce", 1, [&] { comm.reduce(x, 0); });
  expect("reduce_scatter", 1, [&] { (void)comm.reduce_scatter(rows); });
  expect("broadcast", 1, [&] { comm.broadcast(x, 0); });
  expect("all_gather", 1, [&] { (void)comm.all_gather(x); });
  expect("a sum of two pieces", 2, [&] { comm.all_reduce(ones({1'100'000})); });
  expect("any", 1, [&] { (void)comm.all_reduced(x > 0); });
  expect("a sum in rank order", 0, [&] { in_order.all_reduce(x); });
  expect("the largest of floats", 0, [&] { (void)comm.all_reduced(x, dist::max); });
  expect("the largest of integers", 1, [&] { (void)comm.all_reduced(x.as<std::int8_t>(), dist::max); });
  expect("a sum of int8", 0, [&] { (void)comm.all_reduced(x.as<std::int8_t>()); });
  const auto own = connect({.algorithm = dist::Algorithm::two_shot});
  expect("an algorithm that is asked for", 0, [&] { own.all_reduce(x); });
  check_reductions<float>(comm, 1'100'001, dist::sum);  // several pieces
  check_moves<float>(comm, 1'100'001);
  const auto failing = connect();
  mpi_shall_refuse = true;
  try {
    failing.all_reduce(x);
    wrong("an error of MPI is none");
  } catch (const CollectiveError& error) {
    if (std::string_view(error.what()).find("dist: MPI_Iallreduce: ") == std::string_view::npos)
      wrong(join("an error of MPI is not named: ", error.what()));
  }
  mpi_shall_refuse = false;
#endif
}

void require_value(const Tensor<float>& x, float value) {
  for (std::int64_t i = 0; i < x.elements(); ++i)
    if (x.data()[i] != value) wrong(join("element ", i, " is ", x.data()[i], ", expected ", value));
}

/// Receives that begin before the sends, of other ranks or this one, and messages whose sender has left.
void check_messages() {
  const auto comm = connect({.timeout = 20});
  const Stopwatch watch;
  const int n = comm.size(), before = (comm.rank() + n - 1) % n, next = (comm.rank() + 1) % n;
  for (const std::int64_t count : {3, 1000000}) {
    auto late = comm.recv_async(zeros({count}), before, 1), early = comm.recv_async(zeros({count}), before, 2);
    const Tensor sum = comm.all_reduced(ones({5}));
    comm.send(full({count}, static_cast<float>(comm.rank())), next, 2);
    require_value(std::move(early).wait(), static_cast<float>(before));
    comm.send(full({count}, 7.f), next, 1);
    require_value(std::move(late).wait(), 7);
    require_value(sum, static_cast<float>(n));
  }
  auto leaving = std::make_unique<dist::Communicator<Cpu>>(connect({.timeout = 20}));
  if (comm.rank() == n - 1)
    for (int peer = 0; peer + 1 < n; ++peer) leaving->send(full({1000000}, 9.f), peer, 100000);
  if (comm.rank() == n - 1) leaving.reset();
  comm.barrier();
  if (comm.rank() != n - 1) {
    const Tensor<float> x({1000000});
    leaving->recv(x, n - 1, 100000);
    require_value(x, 9);
  }
  leaving.reset();
  if (watch.seconds() > 15) wrong("messages wait for each other");
}

/// Many communicators one after another, in each of which a rank is late: no message reaches another one.
void check_successors() {
  for (int i = 0; i < 100; ++i) {
    const auto comm = connect({.timeout = 20});
    const int n = comm.size(), before = (comm.rank() + n - 1) % n, next = (comm.rank() + 1) % n;
    const Tensor<float> x({1});
    comm.send(full({1}, static_cast<float>(i)), next);
    comm.recv(x, before);
    require_value(x, static_cast<float>(i));
    if (comm.rank() == i % n) usleep(500);
  }
  const auto comm = connect();
  comm.barrier();
#if LOCUS_MPI
  if (const auto kept = dist::detail::MpiPendingFrees::count(); kept > 50)
    wrong(join("MPI keeps ", kept, " communicators"));
#endif
}

void check_all() {
  check_numbers();
  const auto comm = connect();
  for (const std::int64_t count : {0, 1, 17}) check_every_type(comm, count);
  check_type<float>(comm, 1500);
  check_reductions<float>(comm, 300001, dist::sum);  // several pieces
  check_moves<float>(comm, 20001);
  check_order_of_handles(comm);
  check_groups(comm);
  check_divided_training(comm, 1, comm.size());
  if (comm.size() % 2 == 0) check_divided_training(comm, 2, comm.size() / 2);
  if (8 % comm.size() == 0) check_sharded(comm);
  if (comm.size() % 4 == 0) check_model_of_ranks(comm, false);
  const auto ring = connect({.algorithm = dist::Algorithm::ring});
  check_reductions<bfloat16>(ring, 150001, dist::sum);
  check_reductions<float>(ring, 17, dist::mean);
  const auto by_machine = connect({.algorithm = dist::Algorithm::by_machine});
  check_reductions<bfloat16>(by_machine, 150001, dist::sum);
  const auto debug = connect({.debug = true});
  check_type<float>(debug, 5);
  check_synchronized_batch_norm(comm);
  const auto one_shot = connect({.algorithm = dist::Algorithm::one_shot});
  check_reductions<half>(one_shot, 5000, dist::mean);
  check_chunks();
  check_collectives_of_mpi();
  check_messages();
  check_successors();
  check_training();
}

/// The last rank does something else than the others. The others must name it, and soon, unless it stalls. Each fault
/// has a communicator of its own, since a failed one is unusable.
void check_fault(std::string_view fault) {
  const bool times_out = fault == "stall" || fault == "order";
  const dist::Options options{.timeout = times_out ? 1.0 : 60.0, .debug = fault == "debug"};
  int culprit = 0, rank = 0;
  const Stopwatch watch;
  try {
    auto comm = connect(options);
    culprit = comm.size() - 1;
    rank = comm.rank();
    comm.barrier();
    if (fault == "backward") train_until_fault(comm, culprit);
    // A call in flight, with elements on their way when it fails.
    dist::Handle<float, Cpu> handle;
    if (fault == "flight" || fault == "kill") handle = comm.all_reduce_async(ones({300000}));
    if (rank == culprit) {
      if (fault == "throw" || fault == "flight") throw std::runtime_error("out of luck");
      if (fault == "leave") return;
      if (fault == "kill") std::raise(SIGKILL);
      if (fault == "stall") usleep(2500000);
      if (fault == "order" || fault == "debug") comm.broadcast(ones({8}));
      if (fault == "recv") throw std::runtime_error("out of luck");
    }
    if (fault == "recv") comm.recv(ones({8}), culprit);
    else comm.all_reduce(ones({fault == "throw" ? 8 : 100000}));
    wrong(join("rank ", rank, " noticed nothing"));
  } catch (const CollectiveError& error) {
    const std::string text = error.what();
    const bool names_it = error.rank == culprit || fault == "order";  // in that case, each rank waits for the other
    // A rank that ends at once may be out of the barrier, call 1, before the others are. Receives are counted apart.
    const bool stays = times_out || fault == "debug" || fault == "backward";
    if (!names_it || error.sequence < (stays ? 2 : 1)) wrong(join("not what was expected: ", text));
    if (fault == "debug" && text.find("called broadcast(8 x float32, root 0)") == std::string::npos)
      wrong(join("the calls are not named: ", text));
    if (!times_out && watch.seconds() > 10) wrong("it took too long");
    std::printf("rank %d names rank %d\n", rank, error.rank);
    if (fault == "stall" && rank != culprit) usleep(2000000);  // the next run begins with all
  } catch (const std::runtime_error& error) {
    if (std::string_view(error.what()) != "out of luck") throw;
  }
}

/// A collective times out, and its memory is used for something else: late bytes must not be written to it.
void check_late() {
  const Tensor<float> x({3000000}), y({3000000});
  (void)connect();  // may take longer than the time-out below
  try {
    const auto comm = connect({.timeout = 1});
    x.fill_(1);
    comm.barrier();
    if (comm.rank() == comm.size() - 1) usleep(2000000);
    comm.all_reduce(x);
    wrong("nothing timed out");
  } catch (const CollectiveError&) {}
  x.fill_(5);
  y.fill_(6);
  usleep(2000000);
  const auto comm = connect();
  comm.all_reduce(y);
  require_value(x, 5);
  require_value(y, 6.f * static_cast<float>(comm.size()));
}

}  // namespace

int main(int argc, char** argv) {
  try {
    if (argc < 2) check_all();
    else if (std::string_view(argv[1]) == "late") check_late();
    else
      for (int run = 0; run < (argc < 3 ? 1 : std::atoi(argv[2])); ++run) check_fault(argv[1]);
    return 0;
  } catch (const std::exception& error) {
    std::printf("FAILED %s\n", error.what());
    return 1;
  }
}
