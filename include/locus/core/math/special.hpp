#pragma once
// The complementary error function, the inverse of the error function, and the logarithm of the gamma function with its
// derivatives.

#include <locus/core/math.hpp>
#include <locus/core/normal_quantile.hpp>

#if defined(__GLIBC__)
// lgamma writes the sign of gamma to a global variable, a data race between threads; lgamma_r takes a pointer for it.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wredundant-decls"
extern "C" double lgamma_r(double, int*) noexcept;
#pragma GCC diagnostic pop
#endif

namespace locus { inline namespace LOCUS_ABI { namespace math {

[[nodiscard]] LOCUS_FN double erfc(double x) { return LOCUS_MATH(erfc)(x); }

/// 1 - erf x, within 1 ulp however small; branch-free on the host. For t = |x|, e^(-t^2) Q(v) with v = (t - 2) / (t +
/// 2): degree 12, error 2^-33.6.
[[nodiscard]] LOCUS_FN float erfc(float x) {
#if LOCUS_ON_DEVICE
  return ::erfcf(x);
#else
  const double given = static_cast<double>(x), a = __builtin_fabs(given), t = a > 10.5 ? 10.5 : a;
  const double v = (t - 2.0) / (t + 2.0);
  double q = -8.424207935752639e-06;
  q = q * v - 2.3518190951041397e-05;
  q = q * v + 2.389200155644165e-05;
  q = q * v + 0.00017123968476658377;
  q = q * v + 4.486298986488549e-05;
  q = q * v - 0.000980877040417992;
  q = q * v - 0.000847419583617392;
  q = q * v + 0.006997276170895958;
  q = q * v + 0.003732924815413869;
  q = q * v - 0.07897856791306825;
  q = q * v + 0.24165819263240126;
  q = q * v - 0.42718584766370743;
  q = q * v + 0.25539567632432536;
  const double tail = detail::exponential_for_float(-t * t) * q;
  return static_cast<float>(given < 0.0 ? 2.0 - tail : tail);
#endif
}

/// The number whose error function is x: infinite at -1 and 1, NaN beyond. To about 1e-15 relative on the host, by the
/// quantiles of the normal distribution; the toolkit's on a GPU.
[[nodiscard]] LOCUS_FN double erfinv(double x) {
#if LOCUS_ON_DEVICE
  return ::erfinv(x);
#else
  const double magnitude = __builtin_fabs(x), tail = 0.5 - 0.5 * magnitude;
  if (!(tail > 0)) return tail == 0 ? __builtin_copysign(__builtin_inf(), x) : __builtin_nan("");
  return 0.70710678118654752440 * locus::detail::normal_quantile(0.5 * x, tail);
#endif
}
[[nodiscard]] LOCUS_FN float erfinv(float x) {
#if LOCUS_ON_DEVICE
  return ::erfinvf(x);
#else
  return static_cast<float>(erfinv(static_cast<double>(x)));
#endif
}

/// log |gamma(x)|: infinite at 0, -1, -2, ... A call of the library for each element, of float in double.
[[nodiscard]] LOCUS_FN double lgamma(double x) {
#if LOCUS_ON_DEVICE
  return ::lgamma(x);
#elif defined(__GLIBC__)
  int sign = 0;
  return ::lgamma_r(x, &sign);
#else
  return __builtin_lgamma(x);
#endif
}
[[nodiscard]] LOCUS_FN float lgamma(float x) {
#if LOCUS_ON_DEVICE
  return ::lgammaf(x);
#else
  return static_cast<float>(lgamma(static_cast<double>(x)));
#endif
}

namespace detail {

/// log x - 1 / (2 x) - psi(x) for x >= 10: the asymptotic series (Abramowitz and Stegun, 6.3.18), whose first term left
/// out is 4e-17 at 10.
LOCUS_FN double digamma_series(double x) {
  const double z = 1.0 / (x * x);
  double series = 1.0 / 12;
  series = series * z - 691.0 / 32760;
  series = series * z + 1.0 / 132;
  series = series * z - 1.0 / 240;
  series = series * z + 1.0 / 252;
  series = series * z - 1.0 / 120;
  series = series * z + 1.0 / 12;
  return series * z;
}
/// Near its zero for x > 0: the Taylor series around it, of a difference that has the digits of x.
LOCUS_FN double digamma_near_zero(double difference) {
  constexpr double series[] = {
      0.9676722454476212,     -0.4427631689835921,    0.258499760955651,    -0.16394270544240652,
      0.10782405069126237,    -0.07219956125645471,   0.04880428816414311,  -0.03316112647484736,
      0.022597648232218104,   -0.01542476590494896,   0.010538791616612175, -0.007204534386356869,
      0.004926781395729853,   -0.003369801655439328,  0.002305126326734928, -0.0015769367714301972,
      0.0010788252019162967,  -0.0007380709389960052, 0.000504953265834602, -0.0003454680251063077,
      0.00023635601564027053, -0.00016170622091974803};
  double sum = 0;
  for (int i = 21; i >= 0; --i) sum = sum * difference + series[i];
  return sum * difference;
}
/// For x > 0: up to ten steps of psi(x) = psi(x + 1) - 1 / x, then the series.
LOCUS_FN double digamma_of_positive(double x) {
  const double difference = x - 1.4616321449683622 - 9.549995429965697e-17;
  if (difference > -0.25 && difference < 0.25) return digamma_near_zero(difference);
  double steps = 0;
  for (; x < 10.0; x += 1.0) steps += 1.0 / x;
  return log(x) - 0.5 / x - digamma_series(x) - steps;
}
/// The derivative of psi for x > 0, by the same method (6.4.12). T is double or a dual.
template <class T>
LOCUS_FN T trigamma_of_positive(T x) {
  T steps = T(0);
  for (; x < T(10.0); x += T(1.0)) steps += T(1.0) / (x * x);
  const T z = T(1.0) / (x * x);
  T series = T(7.0 / 6);
  series = series * z - T(691.0 / 2730);
  series = series * z + T(5.0 / 66);
  series = series * z - T(1.0 / 30);
  series = series * z + T(1.0 / 42);
  series = series * z - T(1.0 / 30);
  series = series * z + T(1.0 / 6);
  return steps + (T(1.0) + T(0.5) / x + series * z) / x;
}

}  // namespace detail

/// The derivative of lgamma; for x < 0 by psi(1 - x) - pi / tan(pi x). An infinity of the other sign at 0, NaN at
/// -1, -2, ... A loop for each element, of float in double: within 1 ulp of float; of double within 20 ulp for
/// x > 0, and to 1e-15 of the larger term for x < 0, so that digits are lost near the zeros there.
[[nodiscard]] LOCUS_FN double digamma(double x) {
  if (x == 0.0) return LOCUS_MATH(copysign)(__builtin_inf(), -x);
  if (!(x < 0.0)) return detail::digamma_of_positive(x);
  const double part = x - round(x);
  if (part == 0.0 || x - x != 0.0) return __builtin_nan("");
  return detail::digamma_of_positive(1.0 - x) - 3.141592653589793 / LOCUS_MATH(tan)(3.141592653589793 * part);
}
[[nodiscard]] LOCUS_FN float digamma(float x) { return static_cast<float>(digamma(static_cast<double>(x))); }

/// The derivative of digamma; for x < 0 by (pi / sin(pi x))^2 - psi'(1 - x).
[[nodiscard]] LOCUS_FN double trigamma(double x) {
  if (!(x < 0.0)) return detail::trigamma_of_positive(x);
  const double ratio = 3.141592653589793 / LOCUS_MATH(sin)(3.141592653589793 * (x - round(x)));
  return ratio * ratio - detail::trigamma_of_positive(1.0 - x);
}
[[nodiscard]] LOCUS_FN float trigamma(float x) { return static_cast<float>(trigamma(static_cast<double>(x))); }

}}}  // namespace locus::LOCUS_ABI::math
