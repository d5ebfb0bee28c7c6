#pragma once
// The error function, and GELU by the normal distribution. Of float they are computed in double on the host, which
// takes fewer operations than float with the care that their tails need; errors are at most 1 ulp.

#include <locus/core/math/exponential.hpp>

namespace locus::inline LOCUS_ABI::math {

namespace detail {

/// The normal distribution at a distance from its middle
struct Normal {
  double decay;  ///< e^(-t^2 / 2)
  double tail;   ///< Phi(-t)
};

/// For results that are rounded to float, t >= 0; beyond 14.5, where t Phi(-t) rounds to 0, both stay. Phi(-t) is
/// e^(-t^2 / 2) Q(s) with s = (t - 3.5) / (t + 3.5): degree 10, error 2^-29.4.
LOCUS_FN Normal normal(double distance) {
  const double t = distance > 14.5 ? 14.5 : distance, s = (t - 3.5) / (t + 3.5);
  double q = -1.9644298501332044e-05;
  q = q * s - 4.9957550502271057e-05;
  q = q * s + 0.000133604516057176;
  q = q * s + 0.00038833056903674252;
  q = q * s - 0.0013817611160919546;
  q = q * s - 0.001560890450916116;
  q = q * s + 0.019065699664741489;
  q = q * s - 0.061639486657903045;
  q = q * s + 0.12585524742409065;
  q = q * s - 0.18713969673259759;
  q = q * s + 0.10634515367362141;
  const double decay = exponential_for_float(-0.5 * t * t);
  return {decay, decay * q};
}

}  // namespace detail

[[nodiscard]] LOCUS_FN double erf(double x) { return LOCUS_MATH(erf)(x); }

/// For |x| < 1/2, x + x P(x^2): degree 4, error 2^-29.3; beyond, 1 - 2 Phi(-sqrt(2) |x|).
[[nodiscard]] LOCUS_FN float erf(float x) {
#if LOCUS_ON_DEVICE
  return ::erff(x);
#else
  const float t = __builtin_fabsf(x), z = t * t;
  float p = 4.719160032e-3f;
  p = p * z - 2.675825916e-2f;
  p = p * z + 1.128285080e-1f;
  p = p * z - 3.761261106e-1f;
  p = p * z + 1.283791661e-1f;
  const double far = 1.0 - 2.0 * detail::normal(1.4142135623730951 * static_cast<double>(t)).tail;
  return __builtin_copysignf(t < 0.5f ? t + t * p : static_cast<float>(far), x);
#endif
}

/// x Phi(x), Phi being the normal distribution function. On a GPU, where double is slow, Phi has the error of erf:
/// below -1 it loses digits, and from -5.5 on it is 0.
[[nodiscard]] LOCUS_FN double gelu(double x) { return 0.5 * x * LOCUS_MATH(erfc)(-0.7071067811865476 * x); }
[[nodiscard]] LOCUS_FN float gelu(float x) {
#if LOCUS_ON_DEVICE
  return 0.5f * x * (1.0f + erf(x * 0.70710678f));
#else
  const double tail = detail::normal(static_cast<double>(__builtin_fabsf(x))).tail;
  const double bounded = static_cast<double>(x < -14.5f ? -14.5f : x);  // where it is -0
  return static_cast<float>(bounded * (x < 0.0f ? tail : 1.0 - tail));
#endif
}

/// Phi(x) + x e^(-x^2 / 2) / sqrt(2 pi), the derivative of gelu
[[nodiscard]] LOCUS_FN double gelu_slope(double x) {
  return 0.5 * LOCUS_MATH(erfc)(-0.7071067811865476 * x) + x * 0.3989422804014327 * exp(-0.5 * x * x);
}
[[nodiscard]] LOCUS_FN float gelu_slope(float x) {
#if LOCUS_ON_DEVICE
  return 0.5f * (1.0f + erf(x * 0.70710678f)) + x * 0.39894228f * exp(-0.5f * x * x);
#else
  const detail::Normal n = detail::normal(static_cast<double>(__builtin_fabsf(x)));
  const double bounded = static_cast<double>(x < -14.5f ? -14.5f : x > 14.5f ? 14.5f : x);
  return static_cast<float>((x < 0.0f ? n.tail : 1.0 - n.tail) + bounded * 0.3989422804014327 * n.decay);
#endif
}

}  // namespace locus::inline LOCUS_ABI::math
