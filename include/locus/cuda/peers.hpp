#pragma once
// Ranks on NVIDIA GPUs that reach the memory of each other. Type-checks everywhere, as cuda/backend.hpp.

#include <locus/cuda/streams.hpp>

#if LOCUS_NVCC
#include <locus/cuda/peer_reduce.cuh>
#endif
#if LOCUS_CUDA
#include <locus/cuda/peer_memory.hpp>
#endif

namespace locus { inline namespace LOCUS_ABI {

/// Operations of ranks on GPUs besides the verbs.
struct PeerMemory {
  static constexpr int most_ranks = 64;

  /// See cuda::combine_peers.
  template <class T, class Op>
  static void combine(Cuda device, [[maybe_unused]] const void* const* sources, [[maybe_unused]] int source_count,
                      [[maybe_unused]] void* const* targets, [[maybe_unused]] int target_count,
                      [[maybe_unused]] std::int64_t count, [[maybe_unused]] int ranks) {
#if LOCUS_NVCC
    static_assert(most_ranks == cuda::most_peers);
    const cuda::OrdinalGuard guard(device.ordinal);
    cuda::combine_peers<T, Op>(cuda::Context::current(device.ordinal), sources, source_count, targets, target_count,
                               count, ranks);
#else
    detail::require_kernels<T>(device);
#endif
  }
  /// See cuda::combine_partial.
  template <class T, class Op>
  static void combine_partial(Cuda device, [[maybe_unused]] const void* sum, [[maybe_unused]] const void* x,
                              [[maybe_unused]] void* out, [[maybe_unused]] std::int64_t count,
                              [[maybe_unused]] bool first, [[maybe_unused]] bool last, [[maybe_unused]] int ranks) {
#if LOCUS_NVCC
    const cuda::OrdinalGuard guard(device.ordinal);
    cuda::combine_partial<T, Op>(cuda::Context::current(device.ordinal), sum, x, out, count, first, last, ranks);
#else
    detail::require_kernels<T>(device);
#endif
  }
  /// Copies in the current stream of `device`, which owns the target.
  static void copy(Cuda device, [[maybe_unused]] void* target, [[maybe_unused]] Cuda from,
                   [[maybe_unused]] const void* source, [[maybe_unused]] std::int64_t bytes) {
#if LOCUS_CUDA
    cuda::copy_in_stream(cuda::Context::current(device.ordinal), target, source, from.ordinal,
                         static_cast<std::size_t>(bytes));
#else
    cuda::require_device(device.ordinal);
#endif
  }
  /// See cuda::DeviceMemory::allocate_shareable.
  [[nodiscard]] static void* allocate_shareable(Cuda device, [[maybe_unused]] std::size_t bytes) {
#if LOCUS_CUDA
    return cuda::DeviceMemory::of(device.ordinal).allocate_shareable(bytes);
#else
    cuda::require_device(device.ordinal);
    return nullptr;
#endif
  }
  static void free_shareable([[maybe_unused]] Cuda device, [[maybe_unused]] void* block,
                             [[maybe_unused]] std::size_t bytes) noexcept {
#if LOCUS_CUDA
    cuda::DeviceMemory::of(device.ordinal).free_shareable(block, bytes);
#endif
  }
  /// See cuda::open_memory.
  [[nodiscard]] static bool open(Cuda owner, [[maybe_unused]] Cuda reader) {
#if LOCUS_CUDA
    return cuda::open_memory(owner.ordinal, reader.ordinal);
#else
    cuda::require_device(owner.ordinal);
#endif
  }
};

}}  // namespace locus::LOCUS_ABI
