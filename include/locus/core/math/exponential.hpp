#pragma once
// Exponentials, logarithms and what is built on them. Of float, and exp of double, they are branch-free on the host, so
// that loops over them vectorize; errors are at most 2 ulp, with and without fused multiply-add.
//
// Polynomials here and beside are least-squares fits at Chebyshev nodes, reweighted towards the minimax fit (Lawson,
// 1961), coefficients rounded to float one after the other; their intervals and relative errors are named at each.

#include <locus/core/config.hpp>

#include <cstdint>

namespace locus::inline LOCUS_ABI::math {

namespace detail {

inline constexpr float infinity = __builtin_inff(), not_a_number = __builtin_nanf("");

/// e^x = (1 + fraction) * 2^n; the low 9 bits of `steps` hold n.
struct Exponential {
  float fraction;
  std::uint32_t steps;

  /// 2^(n + more), where that is a normal number
  [[nodiscard]] LOCUS_FN float scale(std::uint32_t more) const {
    return __builtin_bit_cast(float, (steps << 23) + ((more + 127u) << 23));
  }
};

/// P(r) in e^r = 1 + r + r^2 P(r) for |r| <= ln 2 / 2: degree 4, error 2^-26.1 of e^r - 1
LOCUS_FN float exponential_polynomial(float r) {
  float p = 1.394066028e-3f;
  p = p * r + 8.366405964e-3f;
  p = p * r + 4.166640341e-2f;
  p = p * r + 1.666654497e-1f;
  return p * r + 0.5f;
}

/// Of x + tail, for x in [-112, 112] (any number of others) and a tail that is at most its rounding. x = n ln 2 + r
/// with |r| <= ln 2 / 2; ln 2 in two parts as in Cody and Waite (1980).
LOCUS_FN Exponential exponential(float x, float tail = 0.0f) {
  const float shifted = x * 1.44269504f + 12582912.0f;  // 1.5 * 2^23: the low bits hold n
  const float n = shifted - 12582912.0f;
  const float high = x - n * 0.693359375f, low = n * 2.12194440e-4f + tail, r = high + low;
  return {high + ((exponential_polynomial(r) * r) * r + low), __builtin_bit_cast(std::uint32_t, shifted)};
}

/// 2^64 e^x for x <= 0: a normal number down to e^-104, whose nearest float is 0. What exponential() keeps apart for
/// results near 1 is rounded here, which takes fewer operations.
LOCUS_FN float scaled_exp_of_negative(float x) {
  const float bounded = x < -104.0f ? -104.0f : x;
  const float shifted = bounded * 1.44269504f + 12583103.0f;  // 1.5 * 2^23 + 191: the low bits hold n + 64 + 127
  const float n = shifted - 12583103.0f;
  const float r = (bounded - n * 0.693359375f) + n * 2.12194440e-4f;
  const float fraction = (exponential_polynomial(r) * r + 1.0f) * r;
  const float scale = __builtin_bit_cast(float, __builtin_bit_cast(std::uint32_t, shifted) << 23);  // 2^(n + 64)
  return fraction * scale + scale;
}

/// e^x for x in [-700, 700] to 2^-29, for results that are rounded to float: degree 6
LOCUS_FN double exponential_for_float(double x) {
  const double shifted = x * 1.4426950408889634 + 6755399441055744.0;  // 1.5 * 2^52: the low bits hold n
  const double r = x - (shifted - 6755399441055744.0) * 0.6931471805599453;
  double p = 0.0013836834700496133;
  p = p * r + 0.0083748240441381145;
  p = p * r + 0.041668226198167985;
  p = p * r + 0.16666420072059335;
  p = p * r + 0.49999992075050004;
  p = p * r + 1.0000000363447332;
  p = p * r + 1.0000000005546095;
  const std::uint64_t n = __builtin_bit_cast(std::uint64_t, shifted) << 52;
  return __builtin_bit_cast(double, __builtin_bit_cast(std::uint64_t, p) + n);
}

/// e ln 2 + log(1 + f) for f in [sqrt(1/2) - 1, sqrt(2) - 1]: log(1 + f) = f - f^2 / 2 + f^3 P(f), degree 7, error
/// 2^-27.3 of it.
LOCUS_FN float logarithm(float f, float e) {
  float p = -7.636399567e-2f;
  p = p * f + 1.276219934e-1f;
  p = p * f - 1.315961331e-1f;
  p = p * f + 1.420158148e-1f;
  p = p * f - 1.662340909e-1f;
  p = p * f + 2.000124156e-1f;
  p = p * f - 2.500081956e-1f;
  p = p * f + 3.333333135e-1f;
  const float square = f * f;
  const float rest = (p * f) * square + e * -2.12194440e-4f;
  return e * 0.693359375f + (f + (rest - 0.5f * square));
}

/// x = mantissa * 2^exponent for a normal x > 0, the mantissa in [sqrt(1/2), sqrt(2))
struct Binary {
  float mantissa;
  std::int32_t exponent;
};
LOCUS_FN Binary binary(float x) {
  const std::uint32_t bits = __builtin_bit_cast(std::uint32_t, x);
  const std::int32_t exponent = static_cast<std::int32_t>(bits - 0x3f3504f3u) >> 23;
  return {__builtin_bit_cast(float, bits - (static_cast<std::uint32_t>(exponent) << 23)), exponent};
}

/// log(1 + x) for finite x > -1: what 1 + x rounds away is added to the mantissa.
LOCUS_FN float logarithm_of_sum(float x) {
  const float sum = 1.0f + x;
  const Binary b = binary(sum);
  const std::uint32_t two_to_1_minus_e = (128u - static_cast<std::uint32_t>(b.exponent)) << 23;  // 0 at the largest
  const float lost = (x - (sum - 1.0f)) * (0.5f * __builtin_bit_cast(float, two_to_1_minus_e));
  return logarithm((b.mantissa - 1.0f) + lost, static_cast<float>(b.exponent));
}

}  // namespace detail

/// e^x, on the host at most 1 ulp off and free of branches too: x = n ln 2 + r with |r| <= ln 2 / 2, as for float, and
/// e^r = 1 + r + r^2 P(r), degree 9, error 2^-57.8.
[[nodiscard]] LOCUS_FN double exp(double x) {
#if LOCUS_ON_DEVICE
  return ::exp(x);
#else
  constexpr double shift = 6755399441055744.0;  // 1.5 * 2^52: the low bits hold n
  const double shifted = x * 1.4426950408889634 + shift, n = shifted - shift;
  const double high = x - n * 0.6931471803691238, low = n * -1.9082149292705877e-10, r = high + low;
  double p = 2.500582072084961e-08;
  p = p * r + 2.763049636212478e-07;
  p = p * r + 2.7557568301733604e-06;
  p = p * r + 2.480149235749453e-05;
  p = p * r + 1.9841269526710674e-04;
  p = p * r + 1.388888894440953e-03;
  p = p * r + 8.333333333485186e-03;
  p = p * r + 4.166666666652682e-02;
  p = p * r + 1.6666666666666427e-01;
  p = p * r + 5.000000000000011e-01;
  const double mantissa = 1.0 + (high + ((p * r) * r + low));
  const double halved = n * 0.5 + shift;  // 2^n in two steps, for subnormals and infinity
  const std::uint64_t half = __builtin_bit_cast(std::uint64_t, halved);
  const std::uint64_t rest = __builtin_bit_cast(std::uint64_t, shifted) - half;
  const double y =
      mantissa * __builtin_bit_cast(double, (half + 1023u) << 52) * __builtin_bit_cast(double, (rest + 1023u) << 52);
  return x < -746.0 ? 0.0 : x > 710.0 ? __builtin_inf() : y;
#endif
}
[[nodiscard]] LOCUS_FN double expm1(double x) { return LOCUS_MATH(expm1)(x); }
[[nodiscard]] LOCUS_FN double log(double x) { return LOCUS_MATH(log)(x); }
[[nodiscard]] LOCUS_FN double log1p(double x) { return LOCUS_MATH(log1p)(x); }
[[nodiscard]] LOCUS_FN double tanh(double x) { return LOCUS_MATH(tanh)(x); }

/// e^x
[[nodiscard]] LOCUS_FN float exp(float x) {
#if LOCUS_ON_DEVICE
  return ::expf(x);
#else
  const detail::Exponential e = detail::exponential(x);
  const std::uint32_t n = e.steps - 0x4b400000u, half = static_cast<std::uint32_t>(static_cast<std::int32_t>(n) >> 1);
  const float first = __builtin_bit_cast(float, (half + 127u) << 23);  // in two steps, for subnormals and infinity
  const float y = (1.0f + e.fraction) * first * __builtin_bit_cast(float, (n - half + 127u) << 23);
  const float finite_or_not = x > 89.0f ? detail::infinity : y;  // NOLINT(bugprone-narrowing-conversions): of none
  return x < -104.0f ? 0.0f : finite_or_not;
#endif
}

/// e^x for x <= 0: exp with fewer operations
[[nodiscard]] LOCUS_FN double exp_of_negative(double x) { return exp(x); }
[[nodiscard]] LOCUS_FN float exp_of_negative(float x) {
#if LOCUS_ON_DEVICE
  return ::expf(x);
#else
  return detail::scaled_exp_of_negative(x) * 0x1p-64f;
#endif
}

/// e^x - 1, to the last digits near 0 too
[[nodiscard]] LOCUS_FN float expm1(float x) {
#if LOCUS_ON_DEVICE
  return ::expm1f(x);
#else
  const float bounded = x < -18.0f ? -18.0f : x > 89.0f ? 89.0f : x;
  const detail::Exponential e = detail::exponential(bounded);
  const float half = e.scale(-1u);  // its double may be infinite
  const float sum = (e.fraction * half + (half - 0.5f)) * 2.0f;
  return __builtin_fabsf(x) < 1e-8f ? x : sum;  // keeps the sign of zero
#endif
}

/// The natural logarithm.
[[nodiscard]] LOCUS_FN float log(float x) {
#if LOCUS_ON_DEVICE
  return ::logf(x);
#else
  const bool subnormal = x < 1.17549435e-38f;
  const detail::Binary b = detail::binary(subnormal ? x * 8388608.0f : x);
  const float y = detail::logarithm(b.mantissa - 1.0f, static_cast<float>(b.exponent - (subnormal ? 23 : 0)));
  return x > 0.0f ? (x < detail::infinity ? y : x) : x == 0.0f ? -detail::infinity : detail::not_a_number;
#endif
}

/// log(1 + x), to the last digits near 0 too
[[nodiscard]] LOCUS_FN float log1p(float x) {
#if LOCUS_ON_DEVICE
  return ::log1pf(x);
#else
  const float y = detail::logarithm_of_sum(x);
  const float usual = __builtin_fabsf(x) < 1e-8f || !(x < detail::infinity) ? x : y;  // keeps the sign of zero
  return x > -1.0f || x != x ? usual : x == -1.0f ? -detail::infinity : detail::not_a_number;
#endif
}

/// For |x| < 0.625, x + x^3 P(x^2): degree 4, error 2^-27.8; beyond, 1 - 2 / (e^2x + 1).
[[nodiscard]] LOCUS_FN float tanh(float x) {
#if LOCUS_ON_DEVICE
  return ::tanhf(x);
#else
  const float t = __builtin_fabsf(x), z = t * t;
  float p = -5.715499166e-3f;
  p = p * z + 2.064910345e-2f;
  p = p * z - 5.374300480e-2f;
  p = p * z + 1.333148479e-1f;
  p = p * z - 3.333328366e-1f;
  const detail::Exponential e = detail::exponential(2.0f * (t > 9.5f ? 9.5f : t));  // beyond, it is 1
  const float scale = e.scale(0), far = 1.0f - 2.0f / ((1.0f + scale) + scale * e.fraction);
  return __builtin_copysignf(t < 0.625f ? t + t * (z * p) : far, x);
#endif
}

namespace detail {

/// a / (1 + e^-(x + tail)). The sum of 1 and e^-x is one of an exact term and a small one, so it rounds once; below -12
/// it is a (e^x - e^2x), 2^64 times as large until the end.
LOCUS_FN float times_sigmoid(float a, float x, float tail = 0.0f) {
  const bool small = x < -12.0f;
  const float above = x < -112.0f ? -112.0f : x, below = x > 80.0f ? -80.0f : -x;
  const Exponential e = exponential(small ? above : below, small ? tail : -tail);
  const float scale = e.scale(small ? 64u : 0u), shrink = small ? 0x1p-64f : 1.0f, power = scale * shrink;
  const float divisor = (1.0f + scale) + scale * e.fraction, mantissa = 1.0f + e.fraction;
  const float tiny = a + a * (e.fraction - power * mantissa * mantissa);
  const float quotient = (small ? tiny : a) / (small ? 1.0f : divisor);
  return quotient * (small ? scale : 1.0f) * shrink;
}

}  // namespace detail

/// 1 / (1 + e^-x), to the last digit where e^-x would overflow too
[[nodiscard]] LOCUS_FN double sigmoid(double x) {
  const double e = exp(x < 0.0 ? x : -x);
  return (x < 0.0 ? e : 1.0) / (1.0 + e);
}
[[nodiscard]] LOCUS_FN float sigmoid(float x) { return detail::times_sigmoid(1.0f, x); }

/// x / (1 + e^-x)
[[nodiscard]] LOCUS_FN double silu(double x) { return x * sigmoid(x); }
[[nodiscard]] LOCUS_FN float silu(float x) {
  const float bounded = x < -112.0f ? -112.0f : x;  // where it is -0
  return detail::times_sigmoid(bounded, bounded);
}

/// 2 sqrt(2 / pi) (x + 0.044715 x^3)
template <class T>
[[nodiscard]] LOCUS_FN T gelu_tanh_argument(T x) {
  return x * (T(1.5957691216057308) + T(0.07135481627260025) * (x * x));
}

/// x / (1 + e^-v) with v = gelu_tanh_argument(x), which is x (1 + tanh(v / 2)) / 2. The rounding of v is multiplied by
/// v, so on the host that is a double.
[[nodiscard]] LOCUS_FN double gelu_tanh(double x) { return x * sigmoid(gelu_tanh_argument(x)); }
[[nodiscard]] LOCUS_FN float gelu_tanh(float x) {
#if LOCUS_ON_DEVICE
  return x * sigmoid(gelu_tanh_argument(x));
#else
  const float bounded = x < -12.0f ? -12.0f : x;  // where it is -0
  const double v = gelu_tanh_argument(static_cast<double>(bounded));
  const float rounded = static_cast<float>(v), lost = static_cast<float>(v - static_cast<double>(rounded));
  return detail::times_sigmoid(bounded, rounded, v < 104.0 ? lost : 0.0f);
#endif
}

/// The derivative of gelu_tanh
template <class T>
[[nodiscard]] LOCUS_FN T gelu_tanh_slope(T x) {
  const T s = sigmoid(gelu_tanh_argument(x));
  return s + x * s * (T(1) - s) * (T(1.5957691216057308) + T(3 * 0.07135481627260025) * (x * x));
}

/// log(1 + e^x) without overflow
[[nodiscard]] LOCUS_FN double softplus(double x) { return (x > 0.0 ? x : 0.0) + log1p(exp(x > 0.0 ? -x : x)); }
[[nodiscard]] LOCUS_FN float softplus(float x) {
  const float e = exp_of_negative(-__builtin_fabsf(x));
#if LOCUS_ON_DEVICE
  const float rest = log1p(e);
#else
  const float rest = detail::logarithm_of_sum(e);
#endif
  return (x > 0.0f ? x : 0.0f) + rest;
}

}  // namespace locus::inline LOCUS_ABI::math
