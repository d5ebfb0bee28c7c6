#pragma once
// Sorting and selecting on NVIDIA GPUs, by CUB. Type-checks everywhere, as cuda/backend.hpp.
//
// For nvcc, this header includes CUB: five seconds of its time, and the namespace ::cuda of NVIDIA's library, beside
// which `using namespace locus` leaves open which one `cuda::` means; say locus::cuda::is_available(). It must come
// before any such line.

#include <locus/cuda/backend.hpp>
#include <locus/device/capabilities.hpp>

#if LOCUS_NVCC
#include <locus/cuda/sorting.cuh>
#endif

namespace locus { inline namespace LOCUS_ABI {

#if LOCUS_NVCC

template <>
struct Sorting<Cuda> {
  template <class Key>
  static void order(Cuda device, Key* keys, std::uint32_t* positions, std::int64_t rows, std::int64_t cols, int bits,
                    std::int64_t) {
    const cuda::OrdinalGuard guard(device.ordinal);
    cuda::order(cuda::Context::current(device.ordinal), keys, positions, rows, cols, bits);
  }
  template <class Flag>
  static void select(Cuda device, const Flag* flags, std::int64_t n, std::int64_t* positions) {
    const cuda::OrdinalGuard guard(device.ordinal);
    cuda::select(cuda::Context::current(device.ordinal), flags, n, positions);
  }
};

#else

template <>
struct Sorting<Cuda> {
  template <class Key>
  static void order(Cuda device, Key*, std::uint32_t*, std::int64_t, std::int64_t, int, std::int64_t) {
    detail::require_kernels<Key>(device);
  }
  template <class Flag>
  static void select(Cuda device, const Flag*, std::int64_t, std::int64_t*) {
    detail::require_kernels<Flag>(device);
  }
};

#endif

static_assert(SortingDevice<Cuda>);

}}  // namespace locus::LOCUS_ABI
