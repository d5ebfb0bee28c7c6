#pragma once
// The error function, and GELU by the normal distribution.

#include <locus/core/math/exponential.hpp>

namespace locus { inline namespace LOCUS_ABI { namespace math {

namespace detail {

/// 2^f for |f| <= 1/2: degree 5, error 2^-23.3
LOCUS_FN float power_of_two(float f) {
  float p = 1.327048289e-3f;
  p = p * f + 9.671379812e-3f;
  p = p * f + 5.550708994e-2f;
  p = p * f + 2.402224541e-1f;
  p = p * f + 6.931470037e-1f;
  return p * f + 1.0f;
}

/// The normal distribution at a distance t from its middle
struct Normal {
  float decay;  ///< 2^64 e^(-t^2 / 2)
  float tail;   ///< 2^64 Phi(-t)
};

/// For 0 <= t <= 14.5: Phi(-t) = e^(-t^2 / 2) A(t) / B(t), degrees 3 and 4, error 2^-20.2.
LOCUS_FN Normal normal(float t) {
  const float v = t * -0.721347520f, shifted = v * t + 12583103.0f;  // 1.5 * 2^23 + 127 + 64
  const float decay = power_of_two(v * t - (shifted - 12583103.0f)) * float_of(bits_of(shifted) << 23);
  float a = 1.719514467e-2f;
  a = a * t + 1.201523393e-1f;
  a = a * t + 3.630497456e-1f;
  a = a * t + 0.5f;
  float b = 4.310650378e-2f;
  b = b * t + 3.009840250e-1f;
  b = b * t + 9.564087987e-1f;
  b = b * t + 1.523964167f;
  b = b * t + 1.0f;
  return {decay, decay * a / b};
}

}  // namespace detail

[[nodiscard]] LOCUS_FN double erf(double x) { return LOCUS_MATH(erf)(x); }

/// For |x| < 0.9, x + x P(x^2): degree 5, error 2^-26.0; beyond, 1 - 2^U(|x|): degree 6, error 2^-28.8.
[[nodiscard]] LOCUS_FN float erf(float x) {
#if LOCUS_ON_DEVICE
  return ::erff(x);
#else
  const float magnitude = __builtin_fabsf(x), t = magnitude > 3.95f ? 3.95f : magnitude, z = x * x;
  float u = 2.844763512e-4f;
  u = u * t - 4.408337642e-3f;
  u = u * t + 3.213914484e-2f;
  u = u * t - 1.500943750e-1f;
  u = u * t - 9.190827608e-1f;
  u = u * t - 1.626998782f;
  u = u * t - 2.560603025e-4f;
  float p = -6.052461686e-4f;
  p = p * z + 5.004160106e-3f;
  p = p * z - 2.677328512e-2f;
  p = p * z + 1.128197610e-1f;
  p = p * z - 3.761250675e-1f;
  p = p * z + 1.283791512e-1f;
  const float shifted = u + 12583039.0f, scale = detail::float_of(detail::bits_of(shifted) << 23);  // 1.5 * 2^23 + 127
  const float far = 1.0f - detail::power_of_two(u - (shifted - 12583039.0f)) * scale;
  return magnitude < 0.9f ? p * x + x : __builtin_copysignf(far, x);
#endif
}

/// x Phi(x), Phi being the normal distribution function. Of double, to the accuracy of erfc of a rounded argument,
/// whose error grows as x^2 below 0: 28 ulp at -8, 206 at -30.
[[nodiscard]] LOCUS_FN double gelu_exact(double x) { return 0.5 * x * LOCUS_MATH(erfc)(-0.7071067811865476 * x); }

/// Of float, within 2 ulp on the host; on a GPU as of double.
/// For |x| < 0.75, x / 2 + x^2 P(x^2): degree 4, error 2^-28.1; beyond, max(x, 0) - t Phi(-t) for t = |x|, with t^2 in
/// two parts. t Phi(-t) = e^(-t^2 / 2) Q(v) with v = (t - 1.5) / (t + 1.5): degree 10, error 2^-26.7. From 14.5 on t
/// Phi(-t) rounds to 0.
[[nodiscard]] LOCUS_FN float gelu_exact(float x) {
#if LOCUS_ON_DEVICE
  return 0.5f * x * ::erfcf(x * -0.70710678f);
#else
  const float t = detail::bounded_magnitude(x, 14.5f), z = x * x;
  const float high = detail::float_of(detail::bits_of(t) & 0xfffff000u), square = high * high;
  const float rest = (t - high) * (t + high);
  const float shifted = square * -0.721347520f + 12583103.0f, n = shifted - 12583103.0f;  // 1.5 * 2^23 + 127 + 64
  const float scale = detail::float_of(detail::bits_of(shifted) << 23);
  const float r = (square + n * 1.38671875f) + (rest - n * 4.24388880e-4f);  // e^(-r / 2) is left, |r| <= ln 2
  float w = 1.382073388e-3f / 64 * r - 8.368677460e-3f / 32;
  w = w * r + 4.166826606e-2f / 16;
  w = w * r - 1.666652113e-1f / 8;
  w = w * r + 4.999999404e-1f / 4;
  const float decay_less_one = (r * r) * w - 0.5f * r;
  const float v = (t - 1.5f) / (t + 1.5f);
  float q = 1.140723005e-3f;
  q = q * v - 7.380255847e-4f;
  q = q * v - 2.037290717e-3f;
  q = q * v - 2.513875952e-3f;
  q = q * v + 8.271840634e-4f;
  q = q * v + 1.080804877e-2f;
  q = q * v + 1.776052825e-2f;
  q = q * v - 1.979889907e-2f;
  q = q * v - 1.262971014e-1f;
  q = q * v + 2.111212462e-1f;
  const float rise = q * v, at_zero = 3.086709976e-1f;  // added last: an error of Q itself would weigh most near v = 0
  const float tail = ((decay_less_one * (rise + at_zero) + rise + at_zero) * scale) * 0x1p-64f;
  float p = 9.863666492e-5f;
  p = p * z - 1.175717684e-3f;
  p = p * z + 9.969939478e-3f;
  p = p * z - 6.648990512e-2f;
  p = p * z + 3.989422619e-1f;
  return z < 0.5625f ? x * (p * x + 0.5f) : (x < 0.0f ? -0.0f : x) - tail;
#endif
}

/// gelu_exact in less time: of float, on the host, errors are at most 1.9e-7 max(1, |x|), and at most 1.7e-6 of the
/// result down to -5, 8.8e-6 beyond. On a GPU Phi has the error of erf: below -1 it loses digits, and from -5.5 on it
/// is 0.
[[nodiscard]] LOCUS_FN double gelu(double x) { return gelu_exact(x); }
[[nodiscard]] LOCUS_FN float gelu(float x) {
#if LOCUS_ON_DEVICE
  return 0.5f * x * (1.0f + erf(x * 0.70710678f));
#else
  const float t = detail::bounded_magnitude(x, 14.5f), positive = x < 0.0f ? 0.0f : x;
  const float y = positive - (t * detail::normal(t).tail) * 0x1p-64f;
  return __builtin_copysignf(y, x);  // the sign of a zero: clang may take 0 or -0 as the larger of both
#endif
}

/// Phi(x) + x e^(-x^2 / 2) / sqrt(2 pi), the derivative of gelu. Of float, errors are at most 5e-7.
[[nodiscard]] LOCUS_FN double gelu_slope(double x) {
  return 0.5 * LOCUS_MATH(erfc)(-0.7071067811865476 * x) + x * 0.3989422804014327 * exp(-0.5 * x * x);
}
[[nodiscard]] LOCUS_FN float gelu_slope(float x) {
#if LOCUS_ON_DEVICE
  return 0.5f * (1.0f + erf(x * 0.70710678f)) + x * 0.39894228f * exp(-0.5f * x * x);
#else
  const float t = detail::bounded_magnitude(x, 14.5f);
  const detail::Normal n = detail::normal(t);
  const float below = (n.tail - (t * 0.39894228f) * n.decay) * 0x1p-64f;  // at -t; the slopes at t and -t add up to 1
  return x < 0.0f ? below : x == x ? 1.0f - below : x;
#endif
}

}}}  // namespace locus::LOCUS_ABI::math
