#pragma once
// Exponentials, logarithms and functions built on them. The float versions, and exp of double, are branch-free on the
// host, so that loops over them vectorize; errors are at most 2 ulp, with and without fused multiply-add.
//
// Polynomials in this folder are least-squares fits at Chebyshev nodes, reweighted towards the minimax fit (Lawson,
// 1961), with coefficients rounded to float one after the other; each states its interval and relative error.

#include <locus/core/config.hpp>
#include <locus/core/dual_functions.hpp>

#include <cstdint>

namespace locus { inline namespace LOCUS_ABI { namespace math {

namespace detail {

inline constexpr float infinity = __builtin_inff(), not_a_number = __builtin_nanf("");

LOCUS_FN std::uint32_t bits_of(float x) { return __builtin_bit_cast(std::uint32_t, x); }
LOCUS_FN float float_of(std::uint32_t bits) { return __builtin_bit_cast(float, bits); }

/// x limited to [low, high], low < 0 < high; NaN stays. Takes minima of the bits as integers: for float comparisons g++
/// 12 emits comparisons and blends instead of minima.
LOCUS_FN float bounded(float x, float low, float high) {
  const std::uint32_t above = bits_of(x) < bits_of(low) ? bits_of(x) : bits_of(low);
  const std::int32_t limit = static_cast<std::int32_t>(bits_of(high)), at = static_cast<std::int32_t>(above);
  const float within = float_of(static_cast<std::uint32_t>(at < limit ? at : limit));
  return x == x ? within : x;
}

/// |x|, at most `high`; `high` for NaN
LOCUS_FN float bounded_magnitude(float x, float high) {
  const std::uint32_t magnitude = bits_of(x) & 0x7fffffffu;
  return float_of(magnitude < bits_of(high) ? magnitude : bits_of(high));
}

/// P(r) in e^r = 1 + r + r^2 P(r) for |r| <= ln 2 / 2: degree 4, error 2^-26.1 of e^r - 1
LOCUS_FN float exponential_polynomial(float r) {
  float p = 1.394066028e-3f;
  p = p * r + 8.366405964e-3f;
  p = p * r + 4.166640341e-2f;
  p = p * r + 1.666654497e-1f;
  return p * r + 0.5f;
}

/// (e^r - 1) / r for |r| <= ln 2: degree 6, error 2^-26.0 of e^r
LOCUS_FN float growth_by_argument(float r) {
  float p = 1.963020622e-4f;
  p = p * r + 1.410544734e-3f;
  p = p * r + 8.335966617e-3f;
  p = p * r + 4.166119918e-2f;
  p = p * r + 1.666661650e-1f;
  p = p * r + 5.000003576e-1f;
  return p * r + 1.0f;
}

/// 2^64 e^x for x <= 0: a normal number down to e^-104, whose nearest float is 0. The reduced argument is rounded to
/// one float, which takes fewer operations than the two parts of expm1. ln 2 in two parts as in Cody and Waite (1980).
LOCUS_FN float scaled_exp_of_negative(float x) {
  const float bounded = x < -104.0f ? -104.0f : x;
  const float shifted = bounded * 1.44269504f + 12583103.0f;  // 1.5 * 2^23 + 191: the low bits hold n + 64 + 127
  const float n = shifted - 12583103.0f;
  const float r = (bounded - n * 0.693359375f) + n * 2.12194440e-4f;
  const float fraction = (exponential_polynomial(r) * r + 1.0f) * r;
  const float scale = float_of(bits_of(shifted) << 23);  // 2^(n + 64)
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

/// log(1 + x) for finite x > -1: the rounding error of 1 + x is added to the mantissa.
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

/// e^x = (2^n)^2 e^r with x = 2 n ln 2 + r, |r| <= ln 2
[[nodiscard]] LOCUS_FN float exp(float x) {
#if LOCUS_ON_DEVICE
  return ::expf(x);
#else
  const float at = detail::bounded(x, -104.0f, 89.0f);
  const float shifted = at * 0.721347520f + 12583039.0f;  // 1.5 * 2^23 + 127: the low bits hold n + 127
  const float n = shifted - 12583039.0f, r = (at - n * 1.38671875f) + n * 4.24388880e-4f;
  const float root =
      detail::float_of(detail::bits_of(shifted) << 23);  // 2^n, whose square may be subnormal or infinite
  return ((detail::growth_by_argument(r) * r + 1.0f) * root) * root;
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

namespace detail {
/// 2^x, to 2^-22; 0 below 2^-126
LOCUS_FN float approximate_exp2(float x) {
#if LOCUS_DEVICE_PASS
  float y;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
#else
  return __builtin_exp2f(x);
#endif
}

/// e^x for x <= 0 whose result is used to the precision of T. For types of 2 bytes it takes 2 instructions of a GPU
/// instead of 9: its relative error is at most 2^-17, because x log2 e is rounded, and it is 0 below 2^-126.
template <class T, class R>
[[nodiscard]] LOCUS_FN R exp_of_negative_as(R x) {
  if constexpr (LOCUS_ON_DEVICE && sizeof(T) == 2) return approximate_exp2(x * 1.44269504f);
  else return exp_of_negative(x);
}
}  // namespace detail

/// e^x - 1, to the last digits near 0 too: x = n ln 2 + r with |r| <= ln 2 / 2
[[nodiscard]] LOCUS_FN float expm1(float x) {
#if LOCUS_ON_DEVICE
  return ::expm1f(x);
#else
  const float bounded = x < -18.0f ? -18.0f : x > 89.0f ? 89.0f : x;
  const float shifted = bounded * 1.44269504f + 12583038.0f;  // 1.5 * 2^23 + 126: the low bits hold n - 1 + 127
  const float n = shifted - 12583038.0f;
  const float high = bounded - n * 0.693359375f, low = n * 2.12194440e-4f, r = high + low;
  const float fraction = high + ((detail::exponential_polynomial(r) * r) * r + low);
  const float half = detail::float_of(detail::bits_of(shifted) << 23);  // 2^(n - 1): its double may be infinite
  const float sum = (fraction * half + (half - 0.5f)) * 2.0f;
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

/// m / (m + 1) with m = (e^2t - 1) / 2 for t = |x|; for t < 0.26, t + t^3 P(t^2), degree 2, error 2^-27.9. 2 t = n ln 2
/// + 2 r with |r| <= ln 2 / 4, and (e^2r - 1) / 2 = r + r^2 Q(r): degree 4, error 2^-26.1.
[[nodiscard]] LOCUS_FN float tanh(float x) {
#if LOCUS_ON_DEVICE
  return ::tanhf(x);
#else
  const float magnitude = __builtin_fabsf(x), t = magnitude > 9.5f ? 9.5f : magnitude;  // beyond, it is 1
  const float shifted = t * 2.88539008f + 12583039.0f, n = shifted - 12583039.0f;       // 1.5 * 2^23 + 127
  const float r = t - n * 0.346573591f, scale = detail::float_of(detail::bits_of(shifted) << 23);
  float q = 4.438610375e-2f;
  q = q * r + 1.338601857e-1f;
  q = q * r + 3.333394825e-1f;
  q = q * r + 6.666618586e-1f;
  q = q * r + 9.999999404e-1f;
  const float m = ((r * r) * q + r) * scale + (0.5f * scale - 0.5f), z = t * t;
  float p = -5.122704059e-2f;
  p = p * z + 1.332269758e-1f;
  p = p * z - 3.333321512e-1f;
  const float near = (t * z) * p + t, far = m / (m + 1.0f);
  return __builtin_copysignf(t < 0.26f ? near : far, x);
#endif
}

namespace detail {

/// e^-r - 1 for |r| <= ln 2 / 2: degree 6, error 2^-28.2 of e^-r
LOCUS_FN float decay_less_one(float r) {
  float p = 1.382073388e-3f * r - 8.368677460e-3f;
  p = p * r + 4.166826606e-2f;
  p = p * r - 1.666652113e-1f;
  p = p * r + 4.999999404e-1f;
  p = p * r - 1.0f;
  return p * r;
}

/// K (1 + e^-(x + tail)) with K = 2^-k, which is normal for x in [-(127 + k) ln 2, (126 - k) ln 2].
template <int k>
LOCUS_FN float scaled_one_and_decay(float x, float tail) {
  constexpr float one = 1.0f / static_cast<float>(1ll << k), shift = 12583039.0f - k;  // 1.5 * 2^23 + 127 - k
  const float shifted = x * -1.44269504f + shift, n = shifted - shift;
  const float r = (x + n * 0.693359375f) - (n * 2.12194440e-4f - tail);
  const float scale = float_of(bits_of(shifted) << 23);
  return (decay_less_one(r) * scale + one) + scale;
}

/// a / (1 + e^-(x + tail)). a 2^-36 may be subnormal only for an a near an x near 0, where the result is a / 2.
LOCUS_FN float times_sigmoid(float a, float x, float tail = 0.0f) {
  const float quotient = (a * 0x1p-36f) / scaled_one_and_decay<36>(bounded(x, -113.0f, 60.0f), tail);
  return __builtin_fabsf(x) < 0x1p-25f ? 0.5f * a : quotient;
}

}  // namespace detail

/// 1 / (1 + e^-x), to the last digit where e^-x would overflow too
[[nodiscard]] LOCUS_FN double sigmoid(double x) {
  const double e = exp(x < 0.0 ? x : -x);
  return (x < 0.0 ? e : 1.0) / (1.0 + e);
}
[[nodiscard]] LOCUS_FN float sigmoid(float x) {
  return 0x1p-24f / detail::scaled_one_and_decay<24>(detail::bounded(x, -104.0f, 69.0f), 0.0f);
}

/// x / (1 + e^-x)
[[nodiscard]] LOCUS_FN double silu(double x) { return x * sigmoid(x); }
[[nodiscard]] LOCUS_FN float silu(float x) {
  const float bounded = x < -113.0f ? -113.0f : x;  // where it is -0
  return detail::times_sigmoid(bounded, bounded);
}

namespace detail {
/// x tanh(log(1 + e^x)) with d = e^-|x|: the second factor is (1 + 2 d) / (1 + 2 d + 2 d^2) for x >= 0 and
/// d (2 + d) / (2 + 2 d + d^2) for x < 0.
template <class T>
LOCUS_FN T mish_of(T x, T d) {
  const T top = x < T(0) ? d * (T(2) + d) : T(1) + T(2) * d;
  return x * (top / (top + T(2) * (x < T(0) ? T(1) : d * d)));
}
}  // namespace detail

/// x tanh(log(1 + e^x)), on the host of float in double
[[nodiscard]] LOCUS_FN double mish(double x) {
  const double bounded = x < -1000.0 ? -1000.0 : x;  // where it is -0
  return detail::mish_of(bounded, exp(bounded < 0.0 ? bounded : -bounded));
}
[[nodiscard]] LOCUS_FN float mish(float x) {
  const float bounded = x < -150.0f ? -150.0f : x;
#if LOCUS_ON_DEVICE
  return detail::mish_of(bounded, exp_of_negative(-__builtin_fabsf(bounded)));
#else
  const double d = detail::exponential_for_float(-static_cast<double>(detail::bounded_magnitude(x, 150.0f)));
  return static_cast<float>(detail::mish_of(static_cast<double>(bounded), d));
#endif
}
/// The derivative of mish: with t the second factor, t + x (1 - t^2) / (1 + e^-x)
template <class T>
[[nodiscard]] LOCUS_FN T mish_slope(T x) {
  const T d = exp_of_negative(x < T(0) ? x : -x), squared = d * d;
  const T top = x < T(0) ? T(2) * d + squared : T(1) + T(2) * d;
  const T bottom = top + T(2) * (x < T(0) ? T(1) : squared);
  const T growth = T(4) * (T(1) + d) * (x < T(0) ? d : squared) / (bottom * bottom);
  return top / bottom + x * growth;
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

}}}  // namespace locus::LOCUS_ABI::math
