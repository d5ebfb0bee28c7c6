#pragma once
// Rounding to integers, branch-free on the host: before SSE4.1 processors had no instruction for it.

#include <locus/core/config.hpp>
#include <locus/core/dual_functions.hpp>

namespace locus { inline namespace LOCUS_ABI { namespace math {

/// To the nearest integer, halves to the even one. From 2^23 on, or 2^52, all numbers are integers.
[[nodiscard]] LOCUS_FN float round(float x) {
#if LOCUS_ON_DEVICE
  return ::rintf(x);
#else
  const float magnitude = __builtin_fabsf(x), rounded = (magnitude + 0x1p23f) - 0x1p23f;
  return __builtin_copysignf(magnitude < 0x1p23f ? rounded : magnitude, x);
#endif
}
[[nodiscard]] LOCUS_FN double round(double x) {
#if LOCUS_ON_DEVICE
  return ::rint(x);
#else
  const double magnitude = __builtin_fabs(x), rounded = (magnitude + 0x1p52) - 0x1p52;
  return __builtin_copysign(magnitude < 0x1p52 ? rounded : magnitude, x);
#endif
}

/// To the nearest integer that is not greater.
template <class T>
[[nodiscard]] LOCUS_FN T floor(T x) {
#if LOCUS_ON_DEVICE
  return ::floor(x);
#else
  const T rounded = round(x);
  return rounded > x ? rounded - T(1) : rounded;
#endif
}

/// To the nearest integer that is not less.
template <class T>
[[nodiscard]] LOCUS_FN T ceil(T x) {
  return -floor(-x);
}

/// To the nearest integer that is not greater in magnitude; -0 between -1 and 0.
template <class T>
[[nodiscard]] LOCUS_FN T trunc(T x) {
#if LOCUS_ON_DEVICE
  return ::trunc(x);
#else
  if constexpr (sizeof(T) == 4) return __builtin_copysignf(floor(__builtin_fabsf(x)), x);
  else return __builtin_copysign(floor(__builtin_fabs(x)), x);
#endif
}

/// The remainder of x / y, whose quotient is rounded towards zero; exact.
[[nodiscard]] LOCUS_FN float fmod(float x, float y) { return LOCUS_MATH(fmodf)(x, y); }
[[nodiscard]] LOCUS_FN double fmod(double x, double y) { return LOCUS_MATH(fmod)(x, y); }

}}}  // namespace locus::LOCUS_ABI::math
