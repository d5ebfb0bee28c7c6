#pragma once
// Fourier transforms on the host.

#include <locus/cpu/backend.hpp>
#include <locus/cpu/fft/real_transform.hpp>
#include <locus/device/fourier.hpp>

namespace locus { inline namespace LOCUS_ABI {

template <>
struct Fourier<Cpu> {
  template <class R>
  static void transform(Cpu, const FourierLayout& layout, const Complex<R>* in, Complex<R>* out, bool inverse,
                        R scale) {
    const std::int64_t step = layout.n * layout.inner;
    cpu::fourier_transform(cpu::FftLayout{layout.outer, layout.n, layout.inner, step, step}, in, out, inverse, scale);
  }
  template <class R>
  static void real_to_bins(Cpu, std::int64_t rows, std::int64_t n, const R* in, Complex<R>* out, R scale) {
    cpu::real_fourier_transform(rows, n, in, out, scale);
  }
  template <class R>
  static void bins_to_real(Cpu, std::int64_t rows, std::int64_t n, const Complex<R>* in, R* out, R scale) {
    cpu::real_from_bins(rows, n, in, out, scale);
  }
};

static_assert(FourierDevice<Cpu>);

}}  // namespace locus::LOCUS_ABI
