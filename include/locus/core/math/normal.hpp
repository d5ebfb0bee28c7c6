#pragma once
// Functions of the normal distribution: its distribution function, the logarithm and the inverse of it, and the scaled
// complementary error function. Of float in double.

#include <locus/core/math/bessel.hpp>
#include <locus/core/math/special.hpp>

namespace locus { inline namespace LOCUS_ABI { namespace math {

namespace detail {

/// e^(factor x^2), for a power of 2 as the factor. The rounding error of x^2 is taken into account: of a large
/// exponent, it is many units in the last place of the result.
LOCUS_HD inline double exp_of_square(double x, double factor) {
  const double square = x * x, whole = exp(factor * square);
  return square < 2000.0 ? whole * (1.0 + factor * fma(x, x, -square)) : whole;
}

/// sin(pi x) and cos(pi x): exact zeros, and all digits for large x, as x less the nearest integer has no rounding
/// error.
struct SineOfPi {
  double sine, cosine;
};
LOCUS_HD inline SineOfPi sine_of_pi(double x) {
  const double whole = round(x), t = 3.14159265358979323846 * (x - whole);
  const double sign = fmod(whole, 2.0) == 0.0 ? 1.0 : -1.0;
  return {sign * sin(t), sign * cos(t)};
}

}  // namespace detail

/// e^(x^2) erfc(x): no overflow or underflow for x > -26.6. Within 5 ulp.
[[nodiscard]] LOCUS_HD inline double erfcx(double x) {
  // (1 + 2 t) e^(t^2) erfc(t) for t >= 0 in (t - 3.75) / (t + 3.75) (Shepherd and Laframboise, 1981)
  constexpr double series[] = {
      1.1775789345674018,     -0.0045900545806464773,  -0.084249133366517916,   0.05920993999819189,
      -0.026658668435305752,  0.0090749976707052651,   -0.0024131635404176082,  0.00049077583652580863,
      -6.9169733025012064e-5, 4.1390279860730102e-6,   7.7403830661984907e-7,   -2.1886401049234396e-7,
      1.076499946567091e-8,   4.5219598112182869e-9,   -7.7544002088313511e-10, -6.3180883408866845e-11,
      2.8687950109306699e-11, 1.9455868545777347e-13,  -9.6546967484334389e-13, 3.2525481481487398e-14,
      3.3478119482868054e-14, -1.8645628804193131e-15, -1.2507950530688647e-15, 7.4182352566240435e-17,
      5.0681489047961113e-17};
  const double t = detail::magnitude_of(x);
  if (t == __builtin_inf()) return x < 0.0 ? t : 0.0;
  const double y =
      t > 1e16 ? 0.56418958354775629 / t : detail::chebyshev_sum(series, (t - 3.75) / (t + 3.75)) / (1.0 + 2.0 * t);
  return x < 0.0 ? 2.0 * detail::exp_of_square(x, 1.0) - y : y;
}

/// The probability that a standard normal number is below x. Within 6 ulp: below -1, by erfcx, which does not magnify
/// the rounding error of x / sqrt(2).
[[nodiscard]] LOCUS_HD inline double ndtr(double x) {
  const double t = -0.70710678118654752440 * x;
  return x < -1.0 ? 0.5 * erfcx(t) * detail::exp_of_square(x, -0.5) : 0.5 * erfc(t);
}

/// log ndtr(x), also where ndtr(x) underflows. Within 6 ulp.
[[nodiscard]] LOCUS_HD inline double log_ndtr(double x) {
  return x < -1.0 ? log(0.5 * erfcx(-0.70710678118654752440 * x)) - 0.5 * x * x : log1p(-ndtr(-x));
}

/// The number whose ndtr is p: infinite at 0 and 1, NaN beyond. Within 5 ulp.
[[nodiscard]] LOCUS_HD inline double ndtri(double p) {
  const double tail = p < 0.5 ? p : 1.0 - p;
  if (!(tail > 0.0)) return tail == 0.0 ? (p < 0.5 ? -__builtin_inf() : __builtin_inf()) : __builtin_nan("");
  return locus::detail::normal_quantile(p - 0.5, tail);
}

/// sin(pi x) / (pi x): 1 at 0, exactly 0 at other integers. Within 4 ulp.
[[nodiscard]] LOCUS_HD inline double sinc(double x) {
  return x == 0.0 ? 1.0 : detail::sine_of_pi(x).sine / (3.14159265358979323846 * x);
}
/// The derivative of sinc; by its series near 0, where the quotient cancels.
[[nodiscard]] LOCUS_HD inline double sinc_slope(double x) {
  const double t = 3.14159265358979323846 * x, z = t * t;
  if (z < 0.25) {
    double series = -1.0 / 6227020800 * 12;
    series = series * z + 1.0 / 39916800 * 10;
    series = series * z - 1.0 / 362880 * 8;
    series = series * z + 1.0 / 5040 * 6;
    series = series * z - 1.0 / 120 * 4;
    series = series * z + 1.0 / 3;
    return -3.14159265358979323846 * t * series;
  }
  const auto [sine, cosine] = detail::sine_of_pi(x);
  return (cosine - sine / t) / x;
}
/// The second derivative of sinc, likewise. T is double or a dual.
template <class T>
[[nodiscard]] LOCUS_HD inline T sinc_curvature(T x) {
  const T t = T(3.14159265358979323846) * x, z = t * t, square = T(-9.8696044010893586);
  if (z < T(0.25)) {
    T series = T(-1.0 / 6227020800 * 12 * 11);
    series = series * z + T(1.0 / 39916800 * 10 * 9);
    series = series * z - T(1.0 / 362880 * 8 * 7);
    series = series * z + T(1.0 / 5040 * 6 * 5);
    series = series * z - T(1.0 / 120 * 4 * 3);
    series = series * z + T(1.0 / 3);
    return square * series;
  }
  return square * sinc(x) - T(2) * sinc_slope(x) / x;
}

/// -x log x: 0 at 0, -infinity below
[[nodiscard]] LOCUS_HD inline double entr(double x) {
  if (x == 0.0) return 0.0;
  return x < 0.0 ? -__builtin_inf() : -x * log(x);
}
/// x log(1 + y), but 0 where x is 0 and y is not NaN
[[nodiscard]] LOCUS_HD inline double xlog1py(double x, double y) { return x == 0.0 && y == y ? 0.0 : x * log1p(y); }

[[nodiscard]] LOCUS_FN float erfcx(float x) { return static_cast<float>(erfcx(static_cast<double>(x))); }
[[nodiscard]] LOCUS_FN float ndtr(float x) { return static_cast<float>(ndtr(static_cast<double>(x))); }
[[nodiscard]] LOCUS_FN float log_ndtr(float x) { return static_cast<float>(log_ndtr(static_cast<double>(x))); }
[[nodiscard]] LOCUS_FN float ndtri(float p) { return static_cast<float>(ndtri(static_cast<double>(p))); }
[[nodiscard]] LOCUS_FN float sinc(float x) { return static_cast<float>(sinc(static_cast<double>(x))); }
[[nodiscard]] LOCUS_FN float sinc_slope(float x) { return static_cast<float>(sinc_slope(static_cast<double>(x))); }
[[nodiscard]] LOCUS_FN float sinc_curvature(float x) {
  return static_cast<float>(sinc_curvature(static_cast<double>(x)));
}
[[nodiscard]] LOCUS_FN float entr(float x) { return x == 0.0f ? 0.0f : x < 0.0f ? -__builtin_inff() : -x * log(x); }
[[nodiscard]] LOCUS_FN float xlog1py(float x, float y) { return x == 0.0f && y == y ? 0.0f : x * log1p(y); }

}}}  // namespace locus::LOCUS_ABI::math
