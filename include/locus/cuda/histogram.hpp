#pragma once
// Counting on NVIDIA GPUs. Type-checks everywhere, as cuda/backend.hpp.

#include <locus/cuda/backend.hpp>
#include <locus/device/capabilities.hpp>

#if LOCUS_NVCC
#include <locus/cuda/histogram.cuh>
#endif

namespace locus { inline namespace LOCUS_ABI {

template <>
struct Histogram<Cuda> {
  template <class Bin>
  static void count(Cuda device, [[maybe_unused]] const Bin* bins, [[maybe_unused]] std::int64_t n,
                    [[maybe_unused]] std::int64_t* counts, [[maybe_unused]] std::int64_t bin_count) {
#if LOCUS_NVCC
    const cuda::OrdinalGuard guard(device.ordinal);
    cuda::count(cuda::Context::current(device.ordinal), bins, n, counts, bin_count);
#else
    detail::require_kernels<Bin>(device);
#endif
  }
};

static_assert(HistogramDevice<Cuda>);

}}  // namespace locus::LOCUS_ABI
