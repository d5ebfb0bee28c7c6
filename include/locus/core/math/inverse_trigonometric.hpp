#pragma once
// The tangent and the inverse trigonometric functions. The float versions are branch-free on the host, by polynomials
// in double, and at most 1 ulp off for every argument.

#include <locus/core/math.hpp>

namespace locus { inline namespace LOCUS_ABI { namespace math {

namespace detail {

/// atan t for 0 <= t <= 1: t P(t^2), degree 10 in t^2, error 2^-31.3
LOCUS_FN double arc_tangent(double t) {
  const double z = t * t;
  double p = 0.0010911004535874636;
  p = p * z - 0.007199330348254339;
  p = p * z + 0.022274236060866395;
  p = p * z - 0.04435734801002622;
  p = p * z + 0.06716096396048576;
  p = p * z - 0.08798766825294219;
  p = p * z + 0.11054499733190175;
  p = p * z - 0.1427915939641104;
  p = p * z + 0.19999604617663622;
  p = p * z - 0.3333332393469413;
  p = p * z + 0.9999999996282023;
  return t * p;
}

/// asin of the root s of z for 0 <= z <= 1/4: s P(z), degree 6, error 2^-31.9
LOCUS_FN double arc_sine(double s, double z) {
  double p = 0.037885553056447724;
  p = p * z + 0.014139513501925318;
  p = p * z + 0.03190079809899912;
  p = p * z + 0.04450308737195829;
  p = p * z + 0.07500604094331303;
  p = p * z + 0.16666656944957478;
  p = p * z + 1.000000000254597;
  return s * p;
}

inline constexpr double pi = 3.141592653589793, half_pi = 1.5707963267948966;

}  // namespace detail

[[nodiscard]] LOCUS_FN double tan(double x) { return LOCUS_MATH(tan)(x); }
[[nodiscard]] LOCUS_FN double asin(double x) { return LOCUS_MATH(asin)(x); }
[[nodiscard]] LOCUS_FN double acos(double x) { return LOCUS_MATH(acos)(x); }
[[nodiscard]] LOCUS_FN double atan(double x) { return LOCUS_MATH(atan)(x); }
[[nodiscard]] LOCUS_FN double atan2(double y, double x) { return LOCUS_MATH(atan2)(y, x); }

[[nodiscard]] LOCUS_FN float tan(float x) {
#if LOCUS_ON_DEVICE
  return ::tanf(x);
#else
  const auto y = static_cast<float>(detail::sine_of_magnitude(x, 0.0) / detail::sine_of_magnitude(x, 0.5));
  return detail::float_of(detail::bits_of(y) ^ (detail::bits_of(x) & 0x80000000u));
#endif
}

/// NaN beyond [-1, 1]. From 1/2 on it is pi / 2 - 2 asin(sqrt((1 - x) / 2)).
[[nodiscard]] LOCUS_FN float asin(float x) {
#if LOCUS_ON_DEVICE
  return ::asinf(x);
#else
  const double v = static_cast<double>(x), a = __builtin_fabs(v);
  const double z = a <= 0.5 ? v * v : 0.5 - 0.5 * a, near = detail::arc_sine(a <= 0.5 ? a : sqrt(z), z);
  return static_cast<float>(__builtin_copysign(a <= 0.5 ? near : detail::half_pi - 2.0 * near, v));
#endif
}

/// NaN beyond [-1, 1]
[[nodiscard]] LOCUS_FN float acos(float x) {
#if LOCUS_ON_DEVICE
  return ::acosf(x);
#else
  const double v = static_cast<double>(x), a = __builtin_fabs(v);
  const double z = a <= 0.5 ? v * v : 0.5 - 0.5 * a, near = detail::arc_sine(a <= 0.5 ? a : sqrt(z), z);
  const double far = v < 0.0 ? detail::pi - 2.0 * near : 2.0 * near;
  return static_cast<float>(a <= 0.5 ? detail::half_pi - __builtin_copysign(near, v) : far);
#endif
}

/// From 1 on it is pi / 2 - atan(1 / x).
[[nodiscard]] LOCUS_FN float atan(float x) {
#if LOCUS_ON_DEVICE
  return ::atanf(x);
#else
  const double v = static_cast<double>(x), a = __builtin_fabs(v);
  const double near = detail::arc_tangent(a > 1.0 ? 1.0 / a : a);
  return static_cast<float>(__builtin_copysign(a > 1.0 ? detail::half_pi - near : near, v));
#endif
}

/// The angle of the point (x, y), from -pi to pi, with the signs and corners of std::atan2.
[[nodiscard]] LOCUS_FN float atan2(float y, float x) {
#if LOCUS_ON_DEVICE
  return ::atan2f(y, x);
#else
  const double down = static_cast<double>(y), along = static_cast<double>(x);
  const double a = __builtin_fabs(along), b = __builtin_fabs(down);
  const double smaller = b > a ? a : b, larger = b > a ? b : a;
  const double of_infinities = smaller == __builtin_inf() ? 1.0 : smaller / larger;
  const double near = detail::arc_tangent(larger == 0.0 ? 0.0 : of_infinities);
  const double quadrant = b > a ? detail::half_pi - near : near;
  const double half = __builtin_copysign(1.0, along) < 0.0 ? detail::pi - quadrant : quadrant;
  return static_cast<float>(along != along ? along : down != down ? down : __builtin_copysign(half, down));
#endif
}

}}}  // namespace locus::LOCUS_ABI::math
