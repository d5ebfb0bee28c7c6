// What a process does that mpi_test.py has mpirun start: every collective, or a fault. Ends with 0 if all is as
// expected.

#include <locus/dist/dist.hpp>
#include <locus/tensor/factory.hpp>

#include <support/collectives.hpp>
#include <support/schooling.hpp>
#include <support/synchronized.hpp>

#include <csignal>
#include <cstdio>
#include <string_view>

using namespace locus;
using namespace locus_test;

namespace {

void check_all() {
  const auto comm = dist::mpi<Cpu>();
  for (const std::int64_t count : {0, 1, 17}) check_every_type(comm, count);
  check_type<float>(comm, 1500);
  check_reductions<float>(comm, 300001, dist::sum);  // several pieces
  check_moves<float>(comm, 20001);
  check_order_of_handles(comm);
  const auto ring = dist::mpi<Cpu>({.algorithm = dist::Algorithm::ring});
  check_reductions<bfloat16>(ring, 150001, dist::sum);
  check_reductions<float>(ring, 17, dist::mean);
  const auto debug = dist::mpi<Cpu>({.debug = true});
  check_type<float>(debug, 5);
  check_synchronized_batch_norm(comm);
  const auto one_shot = dist::mpi<Cpu>({.algorithm = dist::Algorithm::one_shot});
  check_reductions<half>(one_shot, 5000, dist::mean);
}

/// Ranks train a model as one process does.
void check_training() {
  const auto comm = dist::mpi<Cpu>();
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

/// The last rank does something else than the others, which must name it. Each time in a communicator of its own: a
/// failed one is of no more use.
void check_fault(std::string_view fault) {
  const bool times_out = fault == "stall" || fault == "order";
  const dist::Options options{.timeout = times_out ? 1.0 : 60.0, .debug = fault == "debug"};
  int culprit = 0;
  try {
    auto comm = dist::mpi<Cpu>(options);
    culprit = comm.size() - 1;
    comm.barrier();
    if (fault == "backward") train_until_fault(comm, culprit);
    if (comm.rank() == culprit) {
      if (fault == "throw") throw std::runtime_error("out of luck");
      if (fault == "leave") return;
      if (fault == "die") std::raise(SIGKILL);
      if (fault == "stall") usleep(2500000);
      if (fault == "order" || fault == "debug") comm.broadcast(ones({8}));
    }
    comm.all_reduce(ones({fault == "stall" ? 100000 : 8}));
    wrong(join("rank ", comm.rank(), " noticed nothing"));
  } catch (const CollectiveError& error) {
    const std::string text = error.what();
    const bool names_it = error.rank == culprit || fault == "order";  // there, each waits for the other
    if (!names_it || error.sequence < 2) wrong(join("not what was expected: ", text));
    if (fault == "debug" && text.find("called broadcast(8 x float32, root 0)") == std::string::npos)
      wrong(join("the calls are not named: ", text));
  } catch (const std::runtime_error& error) {
    if (std::string_view(error.what()) != "out of luck") throw;
  }
}

}  // namespace

int main(int argc, char** argv) {
  try {
    if (argc < 3) check_all(), check_training();
    else
      for (int run = 0; run < std::atoi(argv[2]); ++run) check_fault(argv[1]);
    return 0;
  } catch (const std::exception& error) {
    std::printf("FAILED %s\n", error.what());
    return 1;
  }
}
