#pragma once
// Suggested number of a loader's workers on this machine.

#include <locus/core/std/bounds.hpp>
#include <locus/core/system/environment.hpp>
#include <locus/cpu/threads/parallel.hpp>
#include <locus/cuda/backend.hpp>
#include <locus/data/loading/loader.hpp>

namespace locus { inline namespace LOCUS_ABI { namespace data {

/// Largest number that suggested_workers() computes: each worker prepares one batch, and by default no more batches
/// than this are prepared ahead.
inline constexpr int most_suggested_workers = static_cast<int>(LoaderOptions{}.ahead);

namespace detail {

/// Resources that the processes of this machine share.
struct SharedHost {
  std::int64_t processors = 1;    ///< that this process may use
  std::int64_t gpus = 0;          ///< that it sees
  std::int64_t ranks = 1;         ///< processes of the same program on this machine
  std::int64_t loop_threads = 0;  ///< processors that Cpu's loops keep busy, if the model is on Cpu
};
/// Processors per GPU, or per rank if there are more ranks than GPUs, less the processors of loops.
[[nodiscard]] constexpr int workers_of(const SharedHost& host) {
  using locus::detail::larger, locus::detail::smaller;
  const std::int64_t least = host.loop_threads > 0 ? 0 : 1,
                     parts = larger<std::int64_t>(larger(host.gpus, host.ranks), 1);
  const std::int64_t own = host.processors / parts - host.loop_threads;
  return static_cast<int>(smaller<std::int64_t>(larger(own, least), most_suggested_workers));
}

/// Number of ranks that this process's launcher started on this machine: Open MPI, torchrun, MPICH, MVAPICH.
[[nodiscard]] LOCUS_OUT_OF_LINE inline std::int64_t local_ranks() {
  for (const char* const variable :
       {"OMPI_COMM_WORLD_LOCAL_SIZE", "LOCAL_WORLD_SIZE", "MPI_LOCALNRANKS", "MV2_COMM_WORLD_LOCAL_SIZE"})
    if (const std::int64_t ranks = locus::detail::whole_number(locus::detail::environment(variable)); ranks > 0)
      return ranks;
  return 1;
}

[[nodiscard]] LOCUS_OUT_OF_LINE inline int workers_beside(bool on_gpu) {
  if (const int given = locus::detail::number_from_environment("LOCUS_WORKERS", "threads", 0, most_workers); given >= 0)
    return given;
  const int threads = cpu::detail::thread_limit().load(Order::relaxed);
  if (on_gpu) return workers_of({.processors = threads, .gpus = cuda::device_count(), .ranks = local_ranks()});
  return workers_of({.processors = cpu::detail::available_cores(), .ranks = local_ranks(), .loop_threads = threads});
}

}  // namespace detail

/// Suggested workers for a loader that feeds a model on this device.
///
/// On Cuda: the processors that loops may use (LOCUS_NUM_THREADS, OMP_NUM_THREADS, or the processors available to the
/// process), divided by the GPUs that it sees, or by the ranks that a launcher started on this machine if these are
/// more; 1 to most_suggested_workers. On Cpu: the processors of a rank that loops leave free, by default 0: the threads
/// that share loops then prepare batches in between. LOCUS_WORKERS in the environment, 0 to 256, overrides the result.
/// throws ArgumentError for another LOCUS_WORKERS
///
///     auto train = data::loader(images, {.batch_size = 128, .workers = data::suggested_workers(device)}, device);
template <Device D>
[[nodiscard]] int suggested_workers(D /*device*/) {
  return detail::workers_beside(std::is_same_v<D, Cuda>);
}
/// Suggested workers for Cuda if there is a GPU, otherwise for Cpu.
[[nodiscard]] inline int suggested_workers() { return detail::workers_beside(cuda::is_available()); }

}}}  // namespace locus::LOCUS_ABI::data
