#pragma once
// Powers and logarithms of other bases than e, roots, and formulas of a logarithm. The float versions are branch-free
// on the host, by formulas in double, and at most 1 ulp off for every argument.

#include <locus/core/math.hpp>

namespace locus { inline namespace LOCUS_ABI { namespace math {

namespace detail {
/// log x times a factor, as for another base: -infinity at 0, NaN below.
LOCUS_FN double logarithm_times(double x, double factor) {
  const double y = logarithm_for_float(x) * factor, ended = x > 0.0 ? x : __builtin_nan("");
  return x > 0.0 && x < __builtin_inf() ? y : x == 0.0 ? -__builtin_inf() : ended;
}
}  // namespace detail

[[nodiscard]] LOCUS_FN double exp2(double x) { return LOCUS_MATH(exp2)(x); }
[[nodiscard]] LOCUS_FN double log2(double x) { return LOCUS_MATH(log2)(x); }
[[nodiscard]] LOCUS_FN double log10(double x) { return LOCUS_MATH(log10)(x); }
[[nodiscard]] LOCUS_FN double cbrt(double x) { return LOCUS_MATH(cbrt)(x); }
[[nodiscard]] LOCUS_FN double hypot(double x, double y) { return LOCUS_MATH(hypot)(x, y); }

[[nodiscard]] LOCUS_FN float exp2(float x) {
#if LOCUS_ON_DEVICE
  return ::exp2f(x);
#else
  const double v = static_cast<double>(x), below = v > 130.0 ? 130.0 : v, bounded = below < -160.0 ? -160.0 : below;
  return static_cast<float>(detail::exponential_for_float(bounded * 0.6931471805599453));
#endif
}
[[nodiscard]] LOCUS_FN float log2(float x) {
#if LOCUS_ON_DEVICE
  return ::log2f(x);
#else
  return static_cast<float>(detail::logarithm_times(static_cast<double>(x), 1.4426950408889634));
#endif
}
[[nodiscard]] LOCUS_FN float log10(float x) {
#if LOCUS_ON_DEVICE
  return ::log10f(x);
#else
  return static_cast<float>(detail::logarithm_times(static_cast<double>(x), 0.4342944819032518));
#endif
}

/// The real cube root, with the sign of x.
[[nodiscard]] LOCUS_FN float cbrt(float x) {
#if LOCUS_ON_DEVICE
  return ::cbrtf(x);
#else
  const double v = static_cast<double>(x), a = __builtin_fabs(v);
  const double root = detail::exponential_for_float(detail::logarithm_for_float(a) * (1.0 / 3.0));
  return static_cast<float>(__builtin_copysign(a > 0.0 && a < __builtin_inf() ? root : a, v));
#endif
}

/// sqrt(x^2 + y^2) without intermediate overflow; infinite if either argument is, even beside NaN.
[[nodiscard]] LOCUS_FN float hypot(float x, float y) {
#if LOCUS_ON_DEVICE
  return ::hypotf(x, y);
#else
  const double a = __builtin_fabs(static_cast<double>(x)), b = __builtin_fabs(static_cast<double>(y));
  const double finite = sqrt(a * a + b * b), inf = __builtin_inf();
  return static_cast<float>(a == inf ? inf : b == inf ? inf : finite);
#endif
}

/// log(x / (1 - x)), the inverse of sigmoid: infinite at 0 and 1, NaN beyond.
[[nodiscard]] LOCUS_FN double logit(double x) {
  return x < 0.25 ? log(x) - log1p(-x) : x <= 0.75 ? log1p((2.0 * x - 1.0) / (1.0 - x)) : log(x / (1.0 - x));
}
[[nodiscard]] LOCUS_FN float logit(float x) {
  const double v = static_cast<double>(x);
#if LOCUS_ON_DEVICE
  return static_cast<float>(logit(v));
#else
  return static_cast<float>(detail::logarithm_times(v / (1.0 - v), 1.0));
#endif
}

/// x log y, but 0 where x is 0 and y is a number.
template <class T>
[[nodiscard]] LOCUS_FN T xlogy(T x, T y) {
#if !LOCUS_ON_DEVICE
  if constexpr (std::is_same_v<T, float>) {
    const double v = static_cast<double>(x), w = static_cast<double>(y);
    const double product = v * detail::logarithm_times(w, 1.0);
    return static_cast<float>(v == 0.0 && w == w ? 0.0 : product);
  }
#endif
  return x == T(0) && y == y ? T(0) : x * log(y);
}

}}}  // namespace locus::LOCUS_ABI::math
