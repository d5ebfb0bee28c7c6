#pragma once
// Hyperbolic functions and their inverses. The float versions are branch-free on the host, by formulas in double, and
// at most 1 ulp off for every argument. tanh is in exponential.hpp.

#include <locus/core/math.hpp>

namespace locus { inline namespace LOCUS_ABI { namespace math {

[[nodiscard]] LOCUS_FN double sinh(double x) { return LOCUS_MATH(sinh)(x); }
[[nodiscard]] LOCUS_FN double cosh(double x) { return LOCUS_MATH(cosh)(x); }
[[nodiscard]] LOCUS_FN double asinh(double x) { return LOCUS_MATH(asinh)(x); }
[[nodiscard]] LOCUS_FN double acosh(double x) { return LOCUS_MATH(acosh)(x); }
[[nodiscard]] LOCUS_FN double atanh(double x) { return LOCUS_MATH(atanh)(x); }

/// (e^x - e^-x) / 2; for |x| < 1, x P(x^2): degree 4, error 2^-34.3
[[nodiscard]] LOCUS_FN float sinh(float x) {
#if LOCUS_ON_DEVICE
  return ::sinhf(x);
#else
  const double v = static_cast<double>(x), a = __builtin_fabs(v), z = v * v;
  double p = 2.8185238877563938e-06;
  p = p * z + 0.00019835812458825683;
  p = p * z + 0.00833335259283455;
  p = p * z + 0.1666666643024831;
  p = p * z + 1.0000000000459757;
  const double growth = detail::exponential_for_float(a > 100.0 ? 100.0 : a);
  return static_cast<float>(__builtin_copysign(a < 1.0 ? a * p : 0.5 * (growth - 1.0 / growth), v));
#endif
}

/// (e^x + e^-x) / 2
[[nodiscard]] LOCUS_FN float cosh(float x) {
#if LOCUS_ON_DEVICE
  return ::coshf(x);
#else
  const double a = __builtin_fabs(static_cast<double>(x));
  const double growth = detail::exponential_for_float(a > 100.0 ? 100.0 : a);
  return static_cast<float>(0.5 * (growth + 1.0 / growth));
#endif
}

/// log(x + sqrt(x^2 + 1)); for |x| < 2^-10, x - x^3 / 6
[[nodiscard]] LOCUS_FN float asinh(float x) {
#if LOCUS_ON_DEVICE
  return ::asinhf(x);
#else
  const double v = static_cast<double>(x), a = __builtin_fabs(v), z = v * v;
  const double far = detail::logarithm_for_float(a + sqrt(z + 1.0)), near = a - a * z * (1.0 / 6.0);
  const double finite = a < 0x1p-10 ? near : far;
  return static_cast<float>(__builtin_copysign(a < __builtin_inf() ? finite : a, v));
#endif
}

/// log(x + sqrt(x^2 - 1)); NaN below 1
[[nodiscard]] LOCUS_FN float acosh(float x) {
#if LOCUS_ON_DEVICE
  return ::acoshf(x);
#else
  const double v = static_cast<double>(x);
  const double within = v >= 1.0 && v < __builtin_inf() ? v : 1.0;
  const double finite = detail::logarithm_for_float(within + sqrt(within * within - 1.0));
  return static_cast<float>(v >= 1.0 ? (v < __builtin_inf() ? finite : v) : __builtin_nan(""));
#endif
}

/// log((1 + x) / (1 - x)) / 2; for |x| < 2^-10, x + x^3 / 3; NaN beyond [-1, 1]
[[nodiscard]] LOCUS_FN float atanh(float x) {
#if LOCUS_ON_DEVICE
  return ::atanhf(x);
#else
  const double v = static_cast<double>(x), a = __builtin_fabs(v), within = a < 1.0 ? a : 0.0;
  const double far = 0.5 * detail::logarithm_for_float((1.0 + within) / (1.0 - within));
  const double finite = a < 0x1p-10 ? a + a * a * a * (1.0 / 3.0) : far;
  const double beyond = a == 1.0 ? __builtin_inf() : __builtin_nan("");
  return static_cast<float>(__builtin_copysign(a < 1.0 ? finite : beyond, v));
#endif
}

}}}  // namespace locus::LOCUS_ABI::math
