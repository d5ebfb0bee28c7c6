#pragma once
// Powers with any exponent.

#include <locus/core/math/exponential.hpp>

namespace locus::inline LOCUS_ABI::math {

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

/// y >= 0, rounded to an integer; from 2^52 on it is one
LOCUS_FN double nearest_integer(double y) { return (y + 4503599627370496.0) - 4503599627370496.0; }

}  // namespace detail

[[nodiscard]] LOCUS_FN double pow(double x, double y) { return std::pow(x, y); }

/// x^y as e^(y log |x|), with the sign and the corners of std::pow
[[nodiscard]] LOCUS_FN float pow(float x, float y) {
#if LOCUS_ON_DEVICE
  return ::powf(x, y);
#else
  const double base = static_cast<double>(::fabsf(x)), exponent = static_cast<double>(y);
  const double finite = detail::logarithm_for_float(base);
  const double log = base == 0.0 ? -__builtin_inf() : base < __builtin_inf() ? finite : base;
  const double power = base == 1.0 || exponent == 0.0 ? 0.0 : exponent * log;
  const double bounded = power < -110.0 ? -110.0 : power > 95.0 ? 95.0 : power;
  const float magnitude = static_cast<float>(detail::exponential_for_float(bounded));
  const double steps = static_cast<double>(::fabsf(y)), half = 0.5 * steps;
  const bool whole = detail::nearest_integer(steps) == steps;
  const bool odd = whole && detail::nearest_integer(half) != half;
  const bool undefined = x < 0.0f && x > -INFINITY && !whole, one = x == 1.0f || y == 0.0f;
  const float defined = undefined ? NAN : magnitude;
  const float signed_power = odd ? ::copysignf(defined, x) : defined;
  return one ? 1.0f : signed_power;
#endif
}

}  // namespace locus::inline LOCUS_ABI::math
