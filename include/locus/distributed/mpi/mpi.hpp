#pragma once
// dist::mpi<D>(): the processes that mpirun started.

#include <locus/core/system/environment.hpp>
#include <locus/distributed/communicator/communicator.hpp>
#include <locus/distributed/engine/staged_engine.hpp>
#include <locus/distributed/mpi/mpi_device_link.hpp>

namespace locus { inline namespace LOCUS_ABI { namespace dist {

namespace detail {
/// A number of processes in the environment; 0: there is none.
[[nodiscard]] inline int processes_of(const char* name) {
  const std::int64_t processes = locus::detail::whole_number(locus::detail::environment(name));
  return processes > 0 ? static_cast<int>(processes) : 0;
}
/// The number of processes in the srun job step of this process.
inline constexpr const char* srun_tasks = "SLURM_STEP_NUM_TASKS";
}  // namespace detail

/// The number of processes that mpirun, or srun --mpi, started together, this one included; 1 if started otherwise.
[[nodiscard]] inline int launched_processes() {
  for (const char* const name : {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "MV2_COMM_WORLD_SIZE"})  // Open MPI's, MPICH's
    if (const int processes = detail::processes_of(name)) return processes;
  const int tasks = std::getenv("PMIX_RANK") ? detail::processes_of(detail::srun_tasks) : 0;  // PMIx has no size
  return tasks > 0 ? tasks : 1;
}

// A program is built with MPI or without: the same function of both must not be one symbol.
#if LOCUS_MPI
inline namespace with_mpi {

/// Connects the processes that mpirun started, one rank each; without mpirun, one rank. All processes call it, the same
/// number of times. The first call starts MPI, unless the program has; MPI then ends with the program.
///
/// Until the first call, all processes draw the same random numbers. From then on, until manual_seed(), each draws its
/// own, as a rank of spawn() would here.
///
/// MPI makes most collectives itself; sums in rank order (Options::sums) are made by messages.
///
/// On Cuda, the processes of a machine take its GPUs in turn. If MPI says that it is CUDA-aware, it gets memory of
/// GPUs, and sums are made on GPUs; else elements travel through page-locked memory and are combined on the host.
///
/// throws EngineUnavailable, CudaUnavailable, OutOfMemory without a thread. If a process ends before the first call,
/// MPI does not start on the others and does not tell them: they end after the time-out, with a message
///
///     auto comm = dist::mpi<Cpu>();   // mpirun -n 4 program
template <class D>
[[nodiscard]] Communicator<D> mpi(Options options = {}) {
  options = detail::from_environment(options);
  (void)detail::MpiSession::instance(options.timeout);
  if constexpr (HostAccessible<D>) {
    const Shared engine(new MpiEngine<D>(MPI_COMM_WORLD, D{}, options));
    return detail::or_leave(*engine, [&] { return Communicator<D>(Shared<Engine<D>>(engine.get())); });
  } else {
    static_assert(std::is_same_v<D, Cuda>, "dist::mpi has engines for Cpu and Cuda");
    const Shared host(new MpiEngine<Cpu>(MPI_COMM_WORLD, Cpu{}, options));
    return detail::or_leave(*host, [&] {
      const Cuda device = detail::gpu_of(host->rank_on_machine());
      if (detail::mpi_takes_gpu_memory())
        return Communicator<D>(Shared<Engine<D>>(new DeviceEngine<detail::MpiDeviceLink>(host, device)));
      return Communicator<D>(Shared<Engine<D>>(new StagedEngine<D>(Shared<Engine<Cpu>>(host.get()), device)));
    });
  }
}

}  // namespace with_mpi
#else
inline namespace without_mpi {

template <class D>
[[nodiscard]] Communicator<D> mpi(Options = {}) {
  const int processes = launched_processes();
  const std::string started =
      processes > 1 ? join(" (each of the ", processes, " processes that mpirun started ", "would be rank 0 of 1)")
                    : std::string();
  fail<EngineUnavailable>({"dist::mpi: this program was built without MPI", started,
                           "; install it (apt-get install libopenmpi-dev), "
                           "and compile with mpicxx, or with the flags of mpicxx --showme; not with -DLOCUS_MPI=0"});
}

}  // namespace without_mpi
#endif

}}}  // namespace locus::LOCUS_ABI::dist
