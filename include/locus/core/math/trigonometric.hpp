#pragma once
// Sine and cosine. The float versions are branch-free on the host and at most 2 ulp off for every argument.

#include <locus/core/config.hpp>

#include <cstdint>

namespace locus { inline namespace LOCUS_ABI { namespace math {

namespace detail {

/// sin(|x| + pi phase). |x| / pi by parts of 1 / pi, whose products with |x| are exact, as Payne and Hanek (1983)
/// reduce it; from 2^75 on the parts begin after the bits of 1 / pi that make whole turns. The sums are exact wherever
/// they cancel, since each part has fewer bits after the point than the next.
LOCUS_FN double sine_of_magnitude(float x, double phase) {
  const double a = static_cast<double>(__builtin_fabsf(x));
  const bool far = a >= 0x1p75;
  const double first = a * (far ? 0x1.529fc26p-53 : 0x1.45f306dp-2);
  const double second = a * (far ? 0x1.57d1f53p-81 : 0x1.9391054p-31);
  const double third = a * (far ? 0x1.377036cp-111 : 0x1.4fe13abp-60);
  const double fourth = a * (far ? 0x1.8a5664f10e41p-139 : 0x1.d1f534ddc0db6p-89);
  const double within_turn = first - ((first + 0x1p53) - 0x1p53);  // less an even number
  const double shifted = (within_turn + second) + (third + phase) + 0x1.8p52;
  const double turned = (((within_turn - (shifted - 0x1.8p52)) + phase) + second) + third;
  const double r = (turned + fourth) * 3.141592653589793, z = r * r;  // |r| <= pi / 2, or little more
  double p = -2.386834215198229e-08;  // sin r = r P(r^2): degree 5 in r^2, error 2^-35.5
  p = p * z + 2.7523970832992938e-06;
  p = p * z - 0.000198408328188324;
  p = p * z + 0.0083333307205283313;
  p = p * z - 0.16666666608825581;
  p = p * z + 0.99999999997884825;
  const std::uint64_t odd = __builtin_bit_cast(std::uint64_t, shifted) << 63;
  return __builtin_bit_cast(double, __builtin_bit_cast(std::uint64_t, r * p) ^ odd);
}

}  // namespace detail

[[nodiscard]] LOCUS_FN double sin(double x) { return LOCUS_MATH(sin)(x); }
[[nodiscard]] LOCUS_FN double cos(double x) { return LOCUS_MATH(cos)(x); }

[[nodiscard]] LOCUS_FN float sin(float x) {
#if LOCUS_ON_DEVICE
  return ::sinf(x);
#else
  const float y = static_cast<float>(detail::sine_of_magnitude(x, 0.0));
  const std::uint32_t sign = __builtin_bit_cast(std::uint32_t, x) & 0x80000000u;
  return __builtin_bit_cast(float, __builtin_bit_cast(std::uint32_t, y) ^ sign);
#endif
}

[[nodiscard]] LOCUS_FN float cos(float x) {
#if LOCUS_ON_DEVICE
  return ::cosf(x);
#else
  return static_cast<float>(detail::sine_of_magnitude(x, 0.5));
#endif
}

}}}  // namespace locus::LOCUS_ABI::math
