#pragma once
// Transforms of real numbers, and back to them. Rows of even length are read as complex numbers, two numbers each, and
// cost half of a complex transform; rows of odd length are transformed as complex numbers.

#include <locus/cpu/fft/transform.hpp>

namespace locus { inline namespace LOCUS_ABI { namespace cpu {

namespace detail {

struct RealFftScratch {
  Scratch row;
};
template <class R>
struct RealFftTurns {
  std::int64_t n = 0;
  std::vector<Complex<R>> turns;  ///< e^(-2 pi i k / n) for k up to n / 4
};
/// The turns of length n; kept until another length is asked for.
template <class R>
[[nodiscard]] const std::vector<Complex<R>>& real_fft_turns(std::int64_t n) {
  auto& kept = of_this_thread<RealFftTurns<R>>();
  if (kept.n != n) {
    kept.turns.clear();
    for (std::int64_t k = 0; k <= n / 4; ++k) kept.turns.push_back(Complex<R>(root_of_unity(k, n)));
    kept.n = n;
  }
  return kept.turns;
}

/// From the transform z of pairs (x[2j], x[2j + 1]), of length h, in a row of h + 1, the h + 1 bins of x.
template <class R>
void separate_pairs(Complex<R>* z, std::int64_t h, const Complex<R>* turns) {
  const Complex<R> first = z[0];
  for (std::int64_t k = 1; 2 * k <= h; ++k) {
    const Complex<R> a = z[k], b = locus::detail::conjugate(z[h - k]);
    const Complex<R> even = R(0.5) * (a + b), difference = R(0.5) * (a - b);
    const Complex<R> odd = turns[k] * Complex<R>(difference.imag, -difference.real);
    z[k] = even + odd;
    z[h - k] = locus::detail::conjugate(even - odd);
  }
  z[0] = Complex<R>(first.real + first.imag, R(0));
  z[h] = Complex<R>(first.real - first.imag, R(0));
}
/// The reverse, from h + 1 bins x to the h numbers whose backward transform is the pairs; twice as large.
template <class R>
void join_pairs(const Complex<R>* x, Complex<R>* z, std::int64_t h, const Complex<R>* turns) {
  for (std::int64_t k = 1; 2 * k <= h; ++k) {
    const Complex<R> a = x[k], b = locus::detail::conjugate(x[h - k]);
    const Complex<R> even = a + b, turned = locus::detail::conjugate(turns[k]) * (a - b);
    const Complex<R> odd(-turned.imag, turned.real);
    z[k] = even + odd;
    z[h - k] = locus::detail::conjugate(even - odd);
  }
  z[0] = Complex<R>(x[0].real + x[h].real, x[0].real - x[h].real);
}

/// f(row) for each row; threads share them where it pays.
template <class F>
void for_each_fft_row(std::int64_t rows, std::int64_t n, const F& f) {
  if (rows * n >= shared_fft_elements) return parallel_for(rows, f);
  for (std::int64_t row = 0; row < rows; ++row) f(row);
}

}  // namespace detail

/// Bins 0 ... n / 2 of the transforms of real rows: out[k] = scale * sum over j of in[j] e^(-2 pi i j k / n).
template <class R>
void real_fourier_transform(std::int64_t rows, std::int64_t n, const R* in, Complex<R>* out, R scale) {
  const std::int64_t h = n / 2, bins = h + 1;
  if (n % 2 == 0) {
    fourier_transform(FftLayout{rows, h, 1, h, bins}, reinterpret_cast<const Complex<R>*>(in), out, false, scale);
    const auto* const turns = detail::real_fft_turns<R>(n).data();
    return detail::for_each_fft_row(rows, n,
                                    [&](std::int64_t row) { detail::separate_pairs(out + row * bins, h, turns); });
  }
  const auto plan = detail::fft_plan<R>(n);
  detail::for_each_fft_row(rows, n, [&](std::int64_t row) {
    Complex<R>* const z = detail::of_this_thread<detail::RealFftScratch>().row.template reserve<Complex<R>>(n);
    for (std::int64_t j = 0; j < n; ++j) z[j] = Complex<R>(in[row * n + j], R(0));
    detail::transform_row(*plan, z, z, false, scale);
    for (std::int64_t k = 0; k < bins; ++k) out[row * bins + k] = z[k];
  });
}

/// Real rows from bins 0 ... n / 2: out[j] = scale * sum over k of all n bins e^(2 pi i j k / n), of which those beyond
/// n / 2 are conjugates of the others. The imaginary parts of bin 0, and for even n of bin n / 2, do not count.
template <class R>
void real_from_bins(std::int64_t rows, std::int64_t n, const Complex<R>* in, R* out, R scale) {
  const std::int64_t h = n / 2, bins = h + 1;
  if (n % 2 == 0) {
    auto* const pairs = reinterpret_cast<Complex<R>*>(out);
    const auto* const turns = detail::real_fft_turns<R>(n).data();
    detail::for_each_fft_row(rows, n,
                             [&](std::int64_t row) { detail::join_pairs(in + row * bins, pairs + row * h, h, turns); });
    return fourier_transform(FftLayout{rows, h, 1, h, h}, static_cast<const Complex<R>*>(pairs), pairs, true, scale);
  }
  const auto plan = detail::fft_plan<R>(n);
  detail::for_each_fft_row(rows, n, [&](std::int64_t row) {
    Complex<R>* const z = detail::of_this_thread<detail::RealFftScratch>().row.template reserve<Complex<R>>(n);
    const Complex<R>* const x = in + row * bins;
    z[0] = Complex<R>(x[0].real, R(0));
    for (std::int64_t k = 1; k < bins; ++k) z[k] = x[k], z[n - k] = locus::detail::conjugate(x[k]);
    detail::transform_row(*plan, z, z, true, scale);
    for (std::int64_t j = 0; j < n; ++j) out[row * n + j] = z[j].real;
  });
}

}}}  // namespace locus::LOCUS_ABI::cpu
