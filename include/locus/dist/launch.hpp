#pragma once
// dist::launch<D>(ranks, f): f on each rank, whether mpirun started processes or the ranks are threads.

#include <locus/dist/mpi.hpp>
#include <locus/dist/spawn.hpp>

namespace locus::inline LOCUS_ABI::dist {

#if LOCUS_MPI
inline namespace with_mpi {
#else
inline namespace without_mpi {
#endif

/// Calls f(Communicator<D>): under mpirun once, for the rank that this process is (see mpi()); otherwise for each of so
/// many ranks, in a thread for each (see spawn()). 0: as many as mpirun started; otherwise as there are GPUs, on Cpu 1.
///
/// throws what f throws; ArgumentError for less than 0 ranks, and where mpirun started another number of processes;
/// EngineUnavailable where it started several of a program that is built without MPI; CudaUnavailable
///
///     int main() { dist::launch<Cpu>(4, [](dist::Communicator<Cpu> comm) { train(comm); }); }
///
///     $ program                  # four threads
///     $ mpirun -n 4 program      # four processes
template <class D, class F>
void launch(int ranks, const F& f, Options options = {}) {
  if (ranks < 0) fail<ArgumentError>({"dist::launch: ", ranks, " ranks; expected 0 or more"});
  const int processes = launched_processes();
  if (processes > 1 && ranks != 0 && ranks != processes)
    fail<ArgumentError>({"dist::launch: ", ranks, " ranks, but mpirun started ", processes, " processes; start ", ranks,
                         ", mpirun -n ", ranks, ", or ask for 0 ranks, as many as there are"});
  if (processes > 1) return f(mpi<D>(options));
  if constexpr (std::is_same_v<D, Cuda>)
    if (ranks == 0) ranks = cuda::device_count();
  spawn<D>(ranks == 0 ? 1 : ranks, f, options);
}

}  // inline namespace
}  // namespace locus::inline LOCUS_ABI::dist
