#pragma once
// Page-locked host memory, the host side of asynchronous copies to and from a GPU. Nothing computes there.

#include <locus/cuda/backend.hpp>

#include <cstring>

namespace locus { inline namespace LOCUS_ABI {

#if LOCUS_CUDA

template <>
struct Backend<Pinned> {
  /// throws OutOfMemory, CudaUnavailable
  [[nodiscard]] static void* allocate(Pinned, std::size_t bytes) {
    return cuda::PinnedMemory::instance().allocate(bytes);
  }
  /// Reused when the asynchronous copies from and to it are done.
  static void deallocate(Pinned, void* data, std::size_t bytes) noexcept {
    if (data) cuda::PinnedMemory::instance().deallocate(data, bytes);
  }
  [[nodiscard]] static MemoryStats memory_stats(Pinned) { return cuda::PinnedMemory::instance().stats(); }
  static void restart_peak(Pinned, std::int64_t least) { cuda::PinnedMemory::instance().restart_peak(least); }
  static std::int64_t release_unused(Pinned) { return cuda::PinnedMemory::instance().release_unused(); }
  static void limit_memory(Pinned, std::int64_t bytes) { cuda::PinnedMemory::instance().set_limit(bytes); }
  [[nodiscard]] static std::int64_t memory_limit(Pinned) { return cuda::PinnedMemory::instance().limit(); }
};

/// Waits until the source may change; copy_async (tensor/copy_async.hpp) does not.
template <>
struct Transfer<Pinned, Cuda> {
  static void copy(Pinned, const void* source, Cuda to, void* target, std::size_t bytes) {
    cuda::copy_from_pinned(source, to, target, bytes);
  }
};
template <>
struct Transfer<Cuda, Pinned> {
  static void copy(Cuda from, const void* source, Pinned, void* target, std::size_t bytes) {
    cuda::copy_to_host(from, source, target, bytes);
  }
};

#else  // no CUDA in this build

template <>
struct Backend<Pinned> {
  [[noreturn]] static void refuse() { fail<CudaUnavailable>({"page-locked memory: ", cuda::unavailable_reason()}); }
  [[nodiscard]] static void* allocate(Pinned, std::size_t) { refuse(); }
  static void deallocate(Pinned, void*, std::size_t) noexcept {}
  [[nodiscard]] static MemoryStats memory_stats(Pinned) { return {}; }
  static void restart_peak(Pinned, std::int64_t) {}
  static std::int64_t release_unused(Pinned) { return 0; }
  static void limit_memory(Pinned, std::int64_t) { refuse(); }
  [[nodiscard]] static std::int64_t memory_limit(Pinned) { return 0; }
};

template <>
struct Transfer<Pinned, Cuda> {
  static void copy(Pinned, const void*, Cuda to, void*, std::size_t) { cuda::require_device(to.ordinal); }
};
template <>
struct Transfer<Cuda, Pinned> {
  static void copy(Cuda from, const void*, Pinned, void*, std::size_t) { cuda::require_device(from.ordinal); }
};

#endif

namespace detail {
inline void copy_on_host(const void* source, void* target, std::size_t bytes) {
  if (bytes) std::memcpy(target, source, bytes);
}
}  // namespace detail

template <>
struct Transfer<Cpu, Pinned> {
  static void copy(Cpu, const void* source, Pinned, void* target, std::size_t bytes) {
    detail::copy_on_host(source, target, bytes);
  }
};
template <>
struct Transfer<Pinned, Cpu> {
  static void copy(Pinned, const void* source, Cpu, void* target, std::size_t bytes) {
    detail::copy_on_host(source, target, bytes);
  }
};
template <>
struct Transfer<Pinned, Pinned> {
  static void copy(Pinned, const void* source, Pinned, void* target, std::size_t bytes) {
    detail::copy_on_host(source, target, bytes);
  }
};

static_assert(MemorySpace<Pinned>);

}}  // namespace locus::LOCUS_ABI
