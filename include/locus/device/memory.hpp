#pragma once
// The memory of a place: how much tensors take, how much is free, and how much they may take.

#include <locus/device/verbs.hpp>

namespace locus { inline namespace LOCUS_ABI {

/// Statistics of the allocator of a place.
///
///     memory_stats(Cuda{}).peak_bytes   // torch.cuda.max_memory_allocated()
template <MemorySpace D>
[[nodiscard]] MemoryStats memory_stats(D place = {}) {
  return Backend<D>::memory_stats(place);
}

/// A place whose peak can start again: `restart_peak(device, least)` of its Backend calls MemoryStats::restart_peak.
template <class D>
concept RestartsPeak = MemorySpace<D> && requires(const D device) { Backend<D>::restart_peak(device, std::int64_t{}); };

/// The peak_bytes of memory_stats(place) is the maximum from now on: `torch.cuda.reset_peak_memory_stats()`.
template <RestartsPeak D>
void reset_peak_memory_stats(D place = {}) {
  Backend<D>::restart_peak(place, 0);
}

/// A place whose pool gives unused blocks back: `release_unused(device)` of its Backend returns their bytes.
template <class D>
concept ReleasesUnused = MemorySpace<D> && requires(const D device) {
  { Backend<D>::release_unused(device) } -> std::same_as<std::int64_t>;
};

/// Gives the pool's unused blocks back to the system, for other programs and libraries: `torch.cuda.empty_cache()`.
/// Returns their bytes, by which memory_stats(place).reserved_bytes falls. Tensors and captured steps keep their
/// memory. cost: on Cuda the host waits for queued work; later requests ask the system again
template <ReleasesUnused D>
std::int64_t release_unused(D place = {}) {
  return Backend<D>::release_unused(place);
}

/// A device that reports its memory by `memory_info(device)` of its Backend.
template <class D>
concept ReportsMemory = MemorySpace<D> && requires(const D device) {
  { Backend<D>::memory_info(device) } -> std::same_as<MemoryInfo>;
};

/// Free and total bytes of the device: `torch.cuda.mem_get_info()`. Unused blocks of this program's pool are not free.
/// On Cpu: the memory available without swapping, or the rest of a lower limit of a control group (container). On Cuda
/// the call starts the GPU for this process. throws CudaUnavailable
///
///     const auto [free, total] = memory_info(Cuda{});
template <ReportsMemory D>
[[nodiscard]] MemoryInfo memory_info(D device = {}) {
  return Backend<D>::memory_info(device);
}

/// A place whose pool has a limit: `limit_memory(device, bytes)` of its Backend sets it, `memory_limit(device)` is it.
template <class D>
concept LimitsMemory = MemorySpace<D> && requires(const D device) {
  Backend<D>::limit_memory(device, std::int64_t{});
  { Backend<D>::memory_limit(device) } -> std::same_as<std::int64_t>;
};

/// From now on, the pool of the place holds at most so many bytes in this process: the reserved_bytes of
/// memory_stats(place), of tensors and of unused blocks together. 0: no limit. A request beyond the limit releases
/// unused blocks, and throws OutOfMemory if that is not enough. At first LOCUS_MEMORY_LIMIT of the environment, such as
/// cpu=8G,cuda=20G,pinned=512M, states the limit. It does not cover the CUDA context and memory of libraries.
/// throws ArgumentError for less than 0, and, once unused blocks are released, for less than tensors and captured steps
/// hold; CudaUnavailable
///
///     set_memory_limit(Cuda{}, memory_info(Cuda{}).total / 2);   // torch.cuda.set_per_process_memory_fraction(0.5)
template <LimitsMemory D>
void set_memory_limit(D place, std::int64_t bytes) {
  Backend<D>::limit_memory(place, bytes);
}

/// The bytes of set_memory_limit(place, bytes), or of LOCUS_MEMORY_LIMIT; 0: no limit.
/// throws ArgumentError for another text in the variable, CudaUnavailable
template <LimitsMemory D>
[[nodiscard]] std::int64_t memory_limit(D place = {}) {
  return Backend<D>::memory_limit(place);
}

}}  // namespace locus::LOCUS_ABI
