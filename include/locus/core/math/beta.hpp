#pragma once
// The beta function, its regularized incomplete form, and derivatives of beta-distributed numbers. Loops for each
// element, of float in double.

#include <locus/core/math/gamma.hpp>

namespace locus { inline namespace LOCUS_ABI { namespace math {

/// log gamma(a) + log gamma(b) - log gamma(a + b), for a, b > 0, without the cancellation of large terms.
[[nodiscard]] LOCUS_HD inline double lbeta(double a, double b) {
  const double small = a < b ? a : b, large = a < b ? b : a;
  if (!(small > 0.0)) return small == 0.0 ? __builtin_inf() : __builtin_nan("");
  if (large == __builtin_inf()) return -__builtin_inf();
  if (large < 10.0) return lgamma(small) + lgamma(large) - lgamma(small + large);
  const double sum = small + large, rest = detail::stirling_rest(large) - detail::stirling_rest(sum);
  if (small < 10.0) return lgamma(small) + rest - (large - 0.5) * log1p(small / large) - small * log(sum) + small;
  return 0.91893853320467274 - 0.5 * log(small) + rest + detail::stirling_rest(small) + small * log(small / sum) -
         (large - 0.5) * log1p(small / large);
}

/// digamma(a + b) - digamma(a) for a, b > 0, without cancellation: minus the derivative of lbeta by a.
[[nodiscard]] LOCUS_HD inline double digamma_gain(double a, double b) {
  if (!(a > 0.0 && b > 0.0)) return __builtin_nan("");
  double steps = 0;
  for (; a < 10.0; a += 1.0) steps += b / (a * (a + b));
  const double sum = a + b;
  return steps + log1p(b / a) + 0.5 * b / (a * sum) + detail::digamma_series(a) - detail::digamma_series(sum);
}
[[nodiscard]] LOCUS_FN float digamma_gain(float a, float b) {
  return static_cast<float>(digamma_gain(static_cast<double>(a), static_cast<double>(b)));
}

namespace detail {

/// x^a y^b / B(a, b) for y = 1 - x: x y times the density of the beta distribution.
LOCUS_HD inline double beta_weight(double a, double b, double x, double y) {
  if (a < 10.0 && b < 10.0 && a > 1e-150 && b > 1e-150) {
    const double power = LOCUS_MATH(pow)(x, a) * (x < 0.5 ? exp(b * log1p(-x)) : LOCUS_MATH(pow)(y, b));
    return power * (LOCUS_MATH(tgamma)(a + b) / LOCUS_MATH(tgamma)(a) / LOCUS_MATH(tgamma)(b));
  }
  if (a < 10.0 || b < 10.0) {
    const double exponent = a * (x < 0.5 ? log(x) : log1p(-y)) + b * (y < 0.5 ? log(y) : log1p(-x));
    return exp(exponent - lbeta(a, b));
  }
  const double sum = a + b, off = a < b ? a - sum * x : sum * y - b;  // DiDonato and Morris, 1992
  const double exponent = a * less_log(-off / a, sum * x / a) + b * less_log(off / b, sum * y / b);
  return 0.39894228040143268 * sqrt(a * (b / sum)) *
         exp(-exponent - stirling_rest(a) - stirling_rest(b) + stirling_rest(sum));
}

/// betainc(a, b, x) over x^a y^b / (a B(a, b)), for x below about the mean: a continued fraction (DLMF 8.17.22), by
/// Lentz's method.
LOCUS_HD inline double beta_fraction(double a, double b, double x) {
  constexpr double least = 1e-300;
  const auto away_from_zero = [](double v) { return LOCUS_MATH(fabs)(v) < least ? least : v; };
  double c = 1, d = 1.0 / away_from_zero(1.0 - (a + b) * x / (a + 1.0)), product = d;
  for (double m = 1; m < 100000; m += 1) {
    const double even = m * (b - m) * x / ((a + 2.0 * m - 1.0) * (a + 2.0 * m));
    d = 1.0 / away_from_zero(1.0 + even * d);
    c = away_from_zero(1.0 + even / c);
    product *= d * c;
    const double odd = -(a + m) * (a + b + m) * x / ((a + 2.0 * m) * (a + 2.0 * m + 1.0));
    d = 1.0 / away_from_zero(1.0 + odd * d);
    c = away_from_zero(1.0 + odd / c);
    product *= d * c;
    if (LOCUS_MATH(fabs)(d * c - 1.0) < 2e-16) break;
  }
  return product;
}

/// 1 + (a + b) / (a + 1) x + (a + b) (a + b + 1) / ((a + 1) (a + 2)) x^2 + ...: betainc(a, b, x) over x^a y^b / (a B).
/// The slope is the derivative by a, or by b.
LOCUS_HD inline WithSlope beta_series(double a, double b, double x, bool by_b) {
  double term = 1, sum = 1, rate = 0, slope = 0;
  for (double n = 0; n < 1000000; n += 1) {
    term *= (a + b + n) / (a + 1.0 + n) * x;
    rate += 1.0 / (a + b + n) - (by_b ? 0.0 : 1.0 / (a + 1.0 + n));
    sum += term;
    slope += term * rate;
    const double ratio = (a + b + n + 1.0) / (a + 2.0 + n) * x;
    if (ratio < 1.0 && term * (1.0 + LOCUS_MATH(fabs)(rate)) < 1e-17 * sum * (1.0 - ratio)) break;
  }
  return {sum, slope};
}

/// The derivative of a beta-distributed number x by a, at the same probability; y = 1 - x. The series of betainc(a, b,
/// x) or of its complement: the one without cancellation, which is below its mean, unless it needs many more terms.
LOCUS_HD inline double beta_slope(double a, double b, double x, double y) {
  if (!(a > 0.0 && b > 0.0 && x >= 0.0 && y >= 0.0)) return __builtin_nan("");
  if (x == 0.0 || y == 0.0) return 0.0;
  const double below = a * (a + b) / b, above = b * (a + b) / a;  // squares of the numbers of terms
  bool lower = x * (a + b) <= a;
  if (lower ? x > 0.9 && below > 1e4 && above < below : y > 0.9 && above > 1e4 && below < above) lower = !lower;
  if (lower ? x > 0.9 && b < 1.0 : y > 0.9 && a < 1.0) lower = !lower;
  const double log_x = x < 0.5 ? log(x) : log1p(-y);
  if (lower) {
    const auto series = beta_series(a, b, x, false);
    return -x * y / a * (series.value * (log_x + digamma_gain(a, b) - 1.0 / a) + series.slope);
  }
  const auto series = beta_series(b, a, y, true);
  return x * y / b * (series.value * (log_x + digamma_gain(a, b)) + series.slope);
}

}  // namespace detail

/// The regularized incomplete beta function: the probability that a number of the beta distribution with parameters a
/// and b is below x. NaN unless a, b > 0 and 0 <= x <= 1. To 2e-14 relative, in a tail of probability p to 1e-15 |log
/// p|, and for x above 0.95 and b below 1 to 1e-15 / b.
[[nodiscard]] LOCUS_HD inline double betainc(double a, double b, double x) {
  if (!(a > 0.0 && b > 0.0 && x >= 0.0 && x <= 1.0)) return __builtin_nan("");
  if (x == 0.0 || x == 1.0) return x;
  const double y = 1.0 - x, weight = detail::beta_weight(a, b, x, y);
  if (x * (a + b + 2.0) < a + 1.0) return weight / a * detail::beta_fraction(a, b, x);
  if (b < 1.0 && x < 0.95) return weight / a * detail::beta_series(a, b, x, false).value;  // may be far below 1
  return 1.0 - weight / b * detail::beta_fraction(b, a, y);
}
/// The derivative of betainc by x: the density of the beta distribution.
[[nodiscard]] LOCUS_HD inline double betainc_slope(double a, double b, double x) {
  const double y = 1.0 - x;
  if (x == 0.0 || y == 0.0) {
    const double power = x == 0.0 ? a : b, other = x == 0.0 ? b : a;
    return power > 1.0 ? 0.0 : power < 1.0 ? __builtin_inf() : other;
  }
  return detail::beta_weight(a, b, x, y) / (x * y);
}

[[nodiscard]] LOCUS_FN float lbeta(float a, float b) {
  return static_cast<float>(lbeta(static_cast<double>(a), static_cast<double>(b)));
}
[[nodiscard]] LOCUS_FN float betainc(float a, float b, float x) {
  return static_cast<float>(betainc(static_cast<double>(a), static_cast<double>(b), static_cast<double>(x)));
}
[[nodiscard]] LOCUS_FN float betainc_slope(float a, float b, float x) {
  return static_cast<float>(betainc_slope(static_cast<double>(a), static_cast<double>(b), static_cast<double>(x)));
}

}}}  // namespace locus::LOCUS_ABI::math
