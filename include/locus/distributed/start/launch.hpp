#pragma once
// dist::launch<D>(ranks, f): f on each rank, whether a launcher started processes or the ranks are threads.

#include <locus/distributed/mpi/mpi.hpp>
#include <locus/distributed/start/spawn.hpp>
#include <locus/distributed/tcp/tcp.hpp>

namespace locus { inline namespace LOCUS_ABI { namespace dist {

#if LOCUS_MPI
inline namespace with_mpi {
#else
inline namespace without_mpi {
#endif

/// Calls f(Communicator<D>) on each rank. If a launcher started this process as one of several, calls it once, for this
/// process's rank: under mpirun or srun --mpi (see mpi()), and where RANK and WORLD_SIZE are set, as by torchrun (see
/// tcp()). Otherwise calls it for each of `ranks` ranks, in a thread for each (see spawn()). 0 ranks: as many as were
/// started; otherwise one per GPU, on Cpu 1.
///
/// throws the exception of f, after the other ranks were told; ArgumentError for less than 0 ranks, and if another
/// number was started; EngineUnavailable if mpirun started several processes of a program that is built without MPI, or
/// srun several that it did not tell of each other; RendezvousError; CudaUnavailable
///
///     int main() { dist::launch<Cpu>(4, [](dist::Communicator<Cpu> comm) { train(comm); }); }
///
///     $ program                                                # four threads
///     $ mpirun -n 4 program                                    # four processes
///     $ torchrun --nproc-per-node 4 --no-python ./program      # the same without MPI
template <class D, class F>
void launch(int ranks, const F& f, Options options = {}) {
  const auto require = [&](const char* launcher, int processes, const char* how) {
    if (ranks != 0 && ranks != processes)
      fail<ArgumentError>({"dist::launch: ", ranks, " ranks, but ", launcher, " started ", processes,
                           " processes; start ", ranks, ", ", how, " ", ranks,
                           ", or ask for 0 ranks, as many as there are"});
  };
  if (ranks < 0) fail<ArgumentError>({"dist::launch: ", ranks, " ranks; expected 0 or more"});
  if (const int processes = launched_processes(); processes > 1) {
    require("mpirun", processes, "mpirun -n");
    return detail::call_as_rank(mpi<D>(options), f);
  }
  if (std::getenv("RANK") && std::getenv("WORLD_SIZE")) {
    const TcpPlace place = TcpPlace::from_environment();
    require("a launcher", place.size, "torchrun --nproc-per-node");
    return detail::call_as_rank(tcp<D>(place, options), f);
  }
  if (const int tasks = detail::processes_of(detail::srun_tasks); tasks > 1)
    fail<EngineUnavailable>({"dist::launch: srun started ", tasks,
                             " processes, and did not tell them of each other; start them with srun --mpi=pmix or "
                             "--mpi=pmi2, or set RANK, WORLD_SIZE, LOCAL_RANK and MASTER_ADDR for each"});
  if constexpr (std::is_same_v<D, Cuda>)
    if (ranks == 0) ranks = cuda::device_count();
  spawn<D>(ranks == 0 ? 1 : ranks, f, options);
}

}  // inline namespace
}}}  // namespace locus::LOCUS_ABI::dist
