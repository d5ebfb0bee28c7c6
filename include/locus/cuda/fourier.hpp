#pragma once
// Fourier transforms on NVIDIA GPUs, by cuFFT. Type-checks everywhere, as cuda/backend.hpp.

#include <locus/cuda/backend.hpp>
#include <locus/device/fourier.hpp>

#if LOCUS_NVCC
#include <locus/cuda/cufft.cuh>
#endif

namespace locus { inline namespace LOCUS_ABI {

template <>
struct Fourier<Cuda> {
  template <class R>
  static void transform(Cuda device, const FourierLayout& layout, const Complex<R>* in, Complex<R>* out, bool inverse,
                        R scale) {
    with_plans<R>(device, [&](auto& plans) { plans.transform(layout, in, out, inverse, scale); });
  }
  template <class R>
  static void real_to_bins(Cuda device, std::int64_t rows, std::int64_t n, const R* in, Complex<R>* out, R scale) {
    with_plans<R>(device, [&](auto& plans) { plans.real_to_bins(rows, n, in, out, scale); });
  }
  template <class R>
  static void bins_to_real(Cuda device, std::int64_t rows, std::int64_t n, const Complex<R>* in, R* out, R scale) {
    with_plans<R>(device, [&](auto& plans) { plans.bins_to_real(rows, n, in, out, scale); });
  }

 private:
  template <class R, class F>
  static void with_plans(Cuda device, [[maybe_unused]] const F& call) {
#if LOCUS_NVCC
    const cuda::OrdinalGuard guard(device.ordinal);
    cuda::Context& context = cuda::Context::current(device.ordinal);
    call(context.state<cuda::FftPlans>(cuda::Context::fourier));
#else
    detail::require_kernels<R>(device);
#endif
  }
};

static_assert(FourierDevice<Cuda>);

}}  // namespace locus::LOCUS_ABI
