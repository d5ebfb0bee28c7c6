#pragma once
// Powers with any exponent.

#include <locus/core/math/exponential.hpp>
#include <locus/core/math/rounding.hpp>

namespace locus { inline namespace LOCUS_ABI { namespace math {

namespace detail {

/// log x for x > 0 to 2^-37, for results that are rounded to float: x = m 2^e with m in [sqrt(1/2), sqrt(2)), and log m
/// = s P(s^2) with s = (m - 1) / (m + 1), degree 4 in s^2.
LOCUS_FN double logarithm_for_float(double x) {
  const std::uint64_t bits = __builtin_bit_cast(std::uint64_t, x);
  const std::uint64_t biased = (bits + (0x3ff0000000000000u - 0x3fe6a09e667f3bcdu)) >> 52;
  const double m = __builtin_bit_cast(double, bits - ((biased - 1023u) << 52));
  const double e = __builtin_bit_cast(double, biased | 0x4330000000000000u) - (4503599627370496.0 + 1023.0);
  const double s = (m - 1.0) / (m + 1.0), z = s * s;
  double p = 0.23617606864829108;
  p = p * z + 0.28534978697440966;
  p = p * z + 0.40000385982262798;
  p = p * z + 0.66666665239904233;
  p = p * z + 2.0000000000084279;
  return e * 0.6931471805599453 + s * p;
}

}  // namespace detail

[[nodiscard]] LOCUS_FN double pow(double x, double y) { return LOCUS_MATH(pow)(x, y); }

/// x^y as e^(y log |x|), with the sign and the corners of std::pow. Comparisons are of float alone, for g++ 12 does not
/// vectorize logic of both widths.
[[nodiscard]] LOCUS_FN float pow(float x, float y) {
#if LOCUS_ON_DEVICE
  return ::powf(x, y);
#else
  const float base = __builtin_fabsf(x), steps = __builtin_fabsf(y), half = 0.5f * steps;
  const double power = static_cast<double>(y) * detail::logarithm_for_float(static_cast<double>(base));
  const double bounded = power < -110.0 ? -110.0 : power > 95.0 ? 95.0 : power;
  const float finite = static_cast<float>(detail::exponential_for_float(bounded));
  const float of_zero = y < 0.0f ? detail::infinity : 0.0f, of_infinity = y < 0.0f ? 0.0f : detail::infinity;
  const float ended = base == 0.0f ? of_zero : base == detail::infinity ? of_infinity : base == 1.0f ? 1.0f : finite;
  const float magnitude = x != x ? x : y != y ? y : ended;
  const float of_whole = round(half) != half ? __builtin_copysignf(magnitude, x) : magnitude;
  const float of_fraction = x < 0.0f ? (base == detail::infinity ? magnitude : detail::not_a_number) : magnitude;
  const float result = round(steps) == steps ? of_whole : of_fraction;
  return x == 1.0f ? 1.0f : y == 0.0f ? 1.0f : result;
#endif
}

}}}  // namespace locus::LOCUS_ABI::math
