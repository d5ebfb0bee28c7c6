// The process with a GPU that gpu_processes_test.py starts: collectives, and a fault. Ends with 0 if all is as
// expected.

#include <locus/distributed/distributed.hpp>
#include <locus/tensor/factory.hpp>

#include <support/collectives.hpp>

#include <mpi.h>

#include <cstdio>

using namespace locus;
using namespace locus_test;

namespace {
int gpu_transfers = 0;  ///< of GPU memory, by MPI

/// A CUDA-aware MPI shares memory of GPUs by CUDA IPC, which refuses memory of pools.
void require_shareable(const void* data) {
  if (simulated::is_pooled(data)) simulated::stop("MPI gets memory of a pool");
  cudaPointerAttributes attributes;
  (void)cudaPointerGetAttributes(&attributes, data);
  gpu_transfers += attributes.type == cudaMemoryTypeDevice;
}
}  // namespace

// In place of MPI's own.
extern "C" int MPI_Isend(const void* data, int count, MPI_Datatype type, int peer, int tag, MPI_Comm comm,
                         MPI_Request* request) {
  require_shareable(data);
  return PMPI_Isend(data, count, type, peer, tag, comm, request);
}
extern "C" int MPI_Irecv(void* data, int count, MPI_Datatype type, int peer, int tag, MPI_Comm comm,
                         MPI_Request* request) {
  require_shareable(data);
  return PMPI_Irecv(data, count, type, peer, tag, comm, request);
}

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

/// MPI gets a little of each message at a time.
struct SmallPieces : dist::detail::MpiDeviceLink {
  SmallPieces(const Shared<dist::MpiEngine<Cpu>>& host, Cuda device) : dist::detail::MpiDeviceLink(host, device, 512) {}
};

/// Memory for MPI is allocated once, as all sizes are small, and freed with the communicator.
void check_memory_for_mpi() {
  if (std::getenv("RANK") || !dist::detail::mpi_takes_gpu_memory()) {
    if (gpu_transfers) wrong("MPI got memory of a GPU");
    return;
  }
  if (!gpu_transfers) wrong("MPI got no memory of a GPU");
  simulated::mallocs = simulated::frees = 0;
  {
    const Shared host(new dist::MpiEngine<Cpu>(MPI_COMM_WORLD, Cpu{}, {.timeout = 60}));
    const Cuda device{host->rank() % 2};
    const dist::Communicator<Cuda> comm(Shared<dist::Engine<Cuda>>(new dist::DeviceEngine<SmallPieces>(host, device)));
    check_all(comm);
    if (simulated::mallocs != 1) wrong(join(simulated::mallocs.load(), " calls of cudaMalloc"));
  }
  if (simulated::mallocs != simulated::frees) wrong("memory for MPI outlives its communicator");
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
    const auto comm = connect();
    check_all(comm);
    check_groups(comm);
    check_all(connect({.debug = true}));
    check_memory_for_mpi();
    check_fault();
    return 0;
  } catch (const std::exception& error) {
    std::printf("FAILED %s\n", error.what());
    return 1;
  }
}
