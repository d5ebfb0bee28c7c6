#pragma once
// How many workers a loader should have on this machine.

#include <locus/core/std/bounds.hpp>
#include <locus/core/system/environment.hpp>
#include <locus/cpu/threads/parallel.hpp>
#include <locus/cuda/backend.hpp>
#include <locus/data/loading/loader.hpp>

namespace locus { inline namespace LOCUS_ABI { namespace data {

/// The most that suggested_workers() answers by itself: each worker prepares one batch, and by default no more than so
/// many are prepared ahead.
inline constexpr int most_suggested_workers = static_cast<int>(LoaderOptions{}.ahead);

namespace detail {

/// What the processes of this machine share.
struct SharedHost {
  std::int64_t processors = 1;    ///< that this process may use
  std::int64_t gpus = 0;          ///< that it sees
  std::int64_t ranks = 1;         ///< processes of the same program on this machine
  std::int64_t loop_threads = 0;  ///< processors that Cpu's loops keep busy, where the model is there
};
/// The processors of a GPU or of a rank, whichever are more, less those of loops.
[[nodiscard]] constexpr int workers_of(const SharedHost& host) {
  using locus::detail::larger, locus::detail::smaller;
  const std::int64_t least = host.loop_threads > 0 ? 0 : 1,
                     parts = larger<std::int64_t>(larger(host.gpus, host.ranks), 1);
  const std::int64_t own = host.processors / parts - host.loop_threads;
  return static_cast<int>(smaller<std::int64_t>(larger(own, least), most_suggested_workers));
}

/// Processes that a launcher started on this machine, of which this is one: Open MPI, torchrun, MPICH, MVAPICH.
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

/// Workers for a loader whose batches a model on this device takes.
///
/// On Cuda: the processors that loops may use (LOCUS_NUM_THREADS, OMP_NUM_THREADS, or those that the process may run
/// on), divided by the GPUs that it sees, or by the ranks that a launcher started on this machine where these are more;
/// 1 to most_suggested_workers. On Cpu: the processors of a rank that loops leave, which by default are 0: the threads
/// that share loops then prepare batches in between. LOCUS_WORKERS in the environment, 0 to 256, is what it answers
/// instead. throws ArgumentError for another LOCUS_WORKERS
///
///     auto train = data::loader(images, {.batch_size = 128, .workers = data::suggested_workers(device)}, device);
template <Device D>
[[nodiscard]] int suggested_workers(D /*device*/) {
  return detail::workers_beside(std::is_same_v<D, Cuda>);
}
/// The same for Cuda where there is a GPU, otherwise for Cpu.
[[nodiscard]] inline int suggested_workers() { return detail::workers_beside(cuda::is_available()); }

}}}  // namespace locus::LOCUS_ABI::data
