// What a process does that mpi_test.py has mpirun start: every collective, or a fault. Ends with 0 if all is as
// expected.

#include <locus/dist/dist.hpp>
#include <locus/tensor/factory.hpp>

#include <support/collectives.hpp>
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
    if (argc < 3) check_all();
    else
      for (int run = 0; run < std::atoi(argv[2]); ++run) check_fault(argv[1]);
    return 0;
  } catch (const std::exception& error) {
    std::printf("FAILED %s\n", error.what());
    return 1;
  }
}
