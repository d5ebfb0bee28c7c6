// The process with a GPU that gpu_processes_test.py starts: collectives, and a fault. Ends with 0 if all is as
// expected.

#include <locus/distributed/distributed.hpp>
#include <locus/tensor/factory.hpp>

#include <support/collectives.hpp>

#include <cstdio>

using namespace locus;
using namespace locus_test;

namespace {

dist::Communicator<Cuda> connect(const dist::Options& options = {}) {
  return std::getenv("RANK") ? dist::tcp<Cuda>(options) : dist::mpi<Cuda>(options);
}

void check_all(const dist::Communicator<Cuda>& comm) {
  for (const std::int64_t count : {0, 1, 17}) {
    check_reductions<float>(comm, count, dist::sum);
    check_moves<float>(comm, count);
  }
  check_reductions<half>(comm, 333, dist::mean);
  check_reductions<std::int32_t>(comm, 100, dist::max);
  check_moves<half>(comm, 5001);
  check_order_of_handles(comm);
}

void check_fault() {
  int rank = 0;
  try {
    const auto comm = connect({.timeout = 20, .debug = true});
    rank = comm.rank();
    const auto x = full<float, Cuda>({5000}, 1.f, comm.device());
    comm.all_reduce(x);
    if (rank == comm.size() - 1) throw std::runtime_error("out of luck");
    comm.all_reduce(x);
    wrong("nothing failed");
  } catch (const CollectiveError& error) {
    std::printf("rank %d names rank %d\n", rank, error.rank);
  } catch (const std::runtime_error& error) {
    if (std::string_view(error.what()) != "out of luck") throw;
  }
}

}  // namespace

int main() {
  try {
    check_all(connect());
    check_all(connect({.debug = true}));
    check_fault();
    return 0;
  } catch (const std::exception& error) {
    std::printf("FAILED %s\n", error.what());
    return 1;
  }
}
