#pragma once
// The stages of a discrete Fourier transform, each of one radix: Stockham's form, which needs no permutation. Several
// transforms run side by side, one in each lane, so that every loop runs over neighbouring numbers. Real and imaginary
// parts lie apart.

#include <locus/cpu/isa.hpp>

#include <cstdint>

LOCUS_LOOPS_BEGIN
namespace locus { inline namespace LOCUS_ABI { namespace cpu::detail {

/// One stage: `turns` subsequences of r elements, `inner` numbers between neighbouring elements. twiddles has r - 1
/// pairs of arrays of `turns` numbers, real and imaginary parts of e^(-2 pi i k p / (r turns)). For a generic radix,
/// `roots` has the r complex roots of 1.
template <class R>
struct FftStage {
  const R *x_real, *x_imag;
  R *y_real, *y_imag;
  const R *twiddles, *roots;
  std::int64_t turns, inner;
  int radix;
};

/// A number of a lane during a butterfly.
template <class R>
struct Lane {
  R real, imag;
  LOCUS_FN friend Lane operator+(Lane a, Lane b) { return {a.real + b.real, a.imag + b.imag}; }
  LOCUS_FN friend Lane operator-(Lane a, Lane b) { return {a.real - b.real, a.imag - b.imag}; }
  LOCUS_FN friend Lane operator*(R a, Lane b) { return {a * b.real, a * b.imag}; }
  LOCUS_FN friend Lane operator*(Lane a, Lane b) {
    return {a.real * b.real - a.imag * b.imag, a.real * b.imag + a.imag * b.real};
  }
  /// -i times the number.
  LOCUS_FN Lane turned() const { return {imag, -real}; }
};

/// Where the elements of one butterfly lie.
template <class R>
struct Butterfly {
  const R *x_real, *x_imag;
  R *y_real, *y_imag;
  std::int64_t x_step, inner;
  LOCUS_FN Butterfly(const FftStage<R>& s, std::int64_t p)
      : x_real(s.x_real + p * s.inner),
        x_imag(s.x_imag + p * s.inner),
        y_real(s.y_real + p * s.radix * s.inner),
        y_imag(s.y_imag + p * s.radix * s.inner),
        x_step(s.turns * s.inner),
        inner(s.inner) {}
  LOCUS_FN Lane<R> x(int k, std::int64_t q) const { return {x_real[k * x_step + q], x_imag[k * x_step + q]}; }
  LOCUS_FN void y(int k, std::int64_t q, Lane<R> value) const {
    y_real[k * inner + q] = value.real;
    y_imag[k * inner + q] = value.imag;
  }
};
template <class R>
[[nodiscard]] LOCUS_FN Lane<R> twiddle(const FftStage<R>& s, int k, std::int64_t p) {
  const R* const of_k = s.twiddles + 2 * (k - 1) * s.turns;
  return {of_k[p], of_k[s.turns + p]};
}

template <class R>
LOCUS_FN void radix_2(const FftStage<R>& s) {
  for (std::int64_t p = 0; p < s.turns; ++p) {
    const Butterfly<R> at(s, p);
    const Lane<R> w = twiddle(s, 1, p);
    LOCUS_IVDEP
    for (std::int64_t q = 0; q < at.inner; ++q) {
      const Lane<R> a = at.x(0, q), b = at.x(1, q);
      at.y(0, q, a + b);
      at.y(1, q, (a - b) * w);
    }
  }
}
template <class R>
LOCUS_FN void radix_3(const FftStage<R>& s) {
  constexpr R half = R(0.5), sine = R(0.86602540378443864676);  // sin(pi / 3)
  for (std::int64_t p = 0; p < s.turns; ++p) {
    const Butterfly<R> at(s, p);
    const Lane<R> w1 = twiddle(s, 1, p), w2 = twiddle(s, 2, p);
    LOCUS_IVDEP
    for (std::int64_t q = 0; q < at.inner; ++q) {
      const Lane<R> a = at.x(0, q), b = at.x(1, q), c = at.x(2, q);
      const Lane<R> sum = b + c, middle = a - half * sum, side = sine * (b - c).turned();
      at.y(0, q, a + sum);
      at.y(1, q, (middle + side) * w1);
      at.y(2, q, (middle - side) * w2);
    }
  }
}
template <class R>
LOCUS_FN void radix_4(const FftStage<R>& s) {
  for (std::int64_t p = 0; p < s.turns; ++p) {
    const Butterfly<R> at(s, p);
    const Lane<R> w1 = twiddle(s, 1, p), w2 = twiddle(s, 2, p), w3 = twiddle(s, 3, p);
    LOCUS_IVDEP
    for (std::int64_t q = 0; q < at.inner; ++q) {
      const Lane<R> a = at.x(0, q), b = at.x(1, q), c = at.x(2, q), d = at.x(3, q);
      const Lane<R> even = a + c, odd = b + d, across = a - c, side = (b - d).turned();
      at.y(0, q, even + odd);
      at.y(1, q, (across + side) * w1);
      at.y(2, q, (even - odd) * w2);
      at.y(3, q, (across - side) * w3);
    }
  }
}
/// The last stage of radix 4, without twiddles.
template <class R>
LOCUS_FN void last_radix_4(const FftStage<R>& s) {
  const Butterfly<R> at(s, 0);
  LOCUS_IVDEP
  for (std::int64_t q = 0; q < at.inner; ++q) {
    const Lane<R> a = at.x(0, q), b = at.x(1, q), c = at.x(2, q), d = at.x(3, q);
    const Lane<R> even = a + c, odd = b + d, across = a - c, side = (b - d).turned();
    at.y(0, q, even + odd);
    at.y(1, q, across + side);
    at.y(2, q, even - odd);
    at.y(3, q, across - side);
  }
}
template <class R>
LOCUS_FN void radix_5(const FftStage<R>& s) {
  constexpr R c1 = R(0.30901699437494742410), s1 = R(0.95105651629515357212);   // of 2 pi / 5
  constexpr R c2 = R(-0.80901699437494742410), s2 = R(0.58778525229247312917);  // of 4 pi / 5
  for (std::int64_t p = 0; p < s.turns; ++p) {
    const Butterfly<R> at(s, p);
    const Lane<R> w1 = twiddle(s, 1, p), w2 = twiddle(s, 2, p), w3 = twiddle(s, 3, p), w4 = twiddle(s, 4, p);
    LOCUS_IVDEP
    for (std::int64_t q = 0; q < at.inner; ++q) {
      const Lane<R> a = at.x(0, q), b = at.x(1, q), c = at.x(2, q), d = at.x(3, q), e = at.x(4, q);
      const Lane<R> outer = b + e, inner = c + d, outer_side = (b - e).turned(), inner_side = (c - d).turned();
      const Lane<R> m1 = a + c1 * outer + c2 * inner, m2 = a + c2 * outer + c1 * inner;
      const Lane<R> t1 = s1 * outer_side + s2 * inner_side, t2 = s2 * outer_side - s1 * inner_side;
      at.y(0, q, a + outer + inner);
      at.y(1, q, (m1 + t1) * w1);
      at.y(2, q, (m2 + t2) * w2);
      at.y(3, q, (m2 - t2) * w3);
      at.y(4, q, (m1 - t1) * w4);
    }
  }
}
/// Any radix, by the definition: r^2 multiplications.
template <class R>
LOCUS_FN void radix_any(const FftStage<R>& s) {
  for (std::int64_t p = 0; p < s.turns; ++p) {
    const Butterfly<R> at(s, p);
    for (int k = 0; k < s.radix; ++k) {
      const Lane<R> w = k == 0 ? Lane<R>{R(1), R(0)} : twiddle(s, k, p);
      for (int j = 0; j < s.radix; ++j) {
        const int turn = static_cast<int>(static_cast<std::int64_t>(j) * k % s.radix);
        const Lane<R> root = Lane<R>{s.roots[2 * turn], s.roots[2 * turn + 1]} * w;
        const bool is_first = j == 0;
        LOCUS_IVDEP
        for (std::int64_t q = 0; q < at.inner; ++q) {
          const Lane<R> term = at.x(j, q) * root;
          const Lane<R> sum{is_first ? R(0) : at.y_real[k * at.inner + q],
                            is_first ? R(0) : at.y_imag[k * at.inner + q]};
          at.y(k, q, sum + term);
        }
      }
    }
  }
}

template <class R>
LOCUS_FN void fft_stage_loops(const FftStage<R>& s) {
  switch (s.radix) {
    case 2: return radix_2(s);
    case 3: return radix_3(s);
    case 4: return s.turns == 1 ? last_radix_4(s) : radix_4(s);
    case 5: return radix_5(s);
    default: return radix_any(s);
  }
}
template <class R>
void fft_stage(const FftStage<R>& s) {
  Versions<&fft_stage_loops<R>>::call(s);
}

}}}  // namespace locus::LOCUS_ABI::cpu::detail
LOCUS_LOOPS_END
