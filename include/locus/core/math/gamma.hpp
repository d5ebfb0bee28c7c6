#pragma once
// Functions around the gamma function: incomplete gamma functions, their derivative by the parameter, Hurwitz's zeta
// function, polygamma. Loops for each element, of float in double.

#include <locus/core/math/special.hpp>

namespace locus { inline namespace LOCUS_ABI { namespace math {

namespace detail {

/// The rest of Stirling's formula, lgamma(x) - (x - 1/2) log x + x - log(2 pi) / 2, for x >= 10 to 1e-16.
LOCUS_HD inline double stirling_rest(double x) {
  const double z = 1.0 / (x * x);
  double series = 1.0 / 156;
  series = series * z - 691.0 / 360360;
  series = series * z + 1.0 / 1188;
  series = series * z - 1.0 / 1680;
  series = series * z + 1.0 / 1260;
  series = series * z - 1.0 / 360;
  series = series * z + 1.0 / 12;
  return series / x;
}

/// x - log(1 + x), given 1 + x too: near 0, x keeps the digits, and elsewhere 1 + x does. Without cancellation near 0:
/// 2 (r + r^3 / 3 + ...) for the logarithm, with r = x / (2 + x).
LOCUS_HD inline double less_log(double x, double one_more) {
  if (x < -0.5 || x > 1.0) return x - log(one_more);
  const double r = x / (2.0 + x), z = r * r;
  double series = 0;
  for (int i = 33; i >= 3; i -= 2) series = series * z + 1.0 / i;
  return x * r - 2.0 * r * z * series;
}

/// x^a e^-x / gamma(a), for a > 0 and x >= 0: x times the density of the gamma distribution.
LOCUS_HD inline double gamma_weight(double a, double x) {
  if (x == 0.0 || x == __builtin_inf()) return 0.0;
  if (a < 10.0) {
    if (x > 1000.0) return 0.0;  // below every number, but the power may overflow
    const double power = LOCUS_MATH(pow)(x, a);
    return a < 1e-300 ? a * power * exp(-x) : power * exp(-x) / LOCUS_MATH(tgamma)(a);
  }
  return 0.39894228040143268 * sqrt(a) * exp(-a * less_log((x - a) / a, x / a) - stirling_rest(a));
}

/// A sum and its derivative by the parameter a.
struct WithSlope {
  double value, slope;
};

/// 1 + x / (a + 1) + x^2 / ((a + 1) (a + 2)) + ...: the lower incomplete gamma function over x^a e^-x / a.
LOCUS_HD inline WithSlope lower_gamma_series(double a, double x) {
  double term = 1, sum = 1, rate = 0, slope = 0;  // rate: the logarithmic derivative of a term
  for (double n = 1; n < 100000; n += 1) {
    term *= x / (a + n);
    rate -= 1.0 / (a + n);
    sum += term;
    slope += term * rate;
    if (term * (1.0 - rate) < 1e-17 * sum) break;
  }
  return {sum, slope};
}

/// The upper incomplete gamma function over x^a e^-x, for x > a: the continued fraction of Legendre, by its numerators
/// and denominators.
LOCUS_HD inline WithSlope upper_gamma_fraction(double a, double x) {
  double p0 = 0, q0 = 1, p1 = 1, q1 = x + 1.0 - a;
  double dp0 = 0, dq0 = 0, dp1 = 0, dq1 = -1;
  WithSlope last{p1 / q1, 1.0 / (q1 * q1)};
  for (double n = 1; n < 100000; n += 1) {
    const double next = x + 2.0 * n + 1.0 - a, factor = n * (a - n);
    const double p2 = next * p1 + factor * p0, q2 = next * q1 + factor * q0;
    const double dp2 = next * dp1 - p1 + factor * dp0 + n * p0, dq2 = next * dq1 - q1 + factor * dq0 + n * q0;
    const double scale = 1.0 / q2;
    p0 = p1 * scale, q0 = q1 * scale, dp0 = dp1 * scale, dq0 = dq1 * scale;
    p1 = p2 * scale, q1 = 1.0, dp1 = dp2 * scale, dq1 = dq2 * scale;
    const WithSlope now{p1, dp1 - p1 * dq1};
    const double change = LOCUS_MATH(fabs)(now.value - last.value) / now.value;
    const double turn = LOCUS_MATH(fabs)(now.slope - last.slope);
    last = now;
    if (change < 2e-16 && turn <= 2e-16 * LOCUS_MATH(fabs)(now.slope)) break;
  }
  return last;
}

/// gammaincc for x <= 1.1 and small a, where 1 - gammainc cancels (DLMF 8.7.1).
LOCUS_HD inline double upper_gamma_near_zero(double a, double x) {
  double term = 1, sum = 0;
  for (double n = 1; n < 100; n += 1) {
    term *= -x / n;
    const double part = term / (a + n);
    sum += part;
    if (LOCUS_MATH(fabs)(part) < 1e-17 * LOCUS_MATH(fabs)(sum)) break;
  }
  const double next = 1.0 + a;  // its rounding error, by the derivative
  const double exponent = a * log(x) - lgamma(next) - (a - (next - 1.0)) * digamma(next);
  return -expm1(exponent) - a * sum * exp(exponent);
}

/// gammainc or gammaincc for large a and x near a: Temme's uniform expansion (DLMF 8.12), with the Taylor series of its
/// first five coefficients.
LOCUS_HD inline double uniform_gamma(double a, double x, bool upper) {
  constexpr double c0[] = {-0.3333333333333333,     0.08333333333333333,     -0.014814814814814815,
                           0.0011574074074074073,   0.0003527336860670194,   -0.0001787551440329218,
                           3.919263178522438e-05,   -2.185448510679992e-06,  -1.85406221071516e-06,
                           8.296711340953087e-07,   -1.7665952736826078e-07, 6.707853543401498e-09,
                           1.0261809784240309e-08,  -4.382036018453353e-09,  9.14769958223679e-10,
                           -2.5514193994946248e-11, -5.830772132550426e-11,  2.4361948020667415e-11};
  constexpr double c1[] = {-0.001851851851851852,   -0.003472222222222222,   0.0026455026455026454,
                           -0.0009902263374485596,  0.00020576131687242798,  -4.018775720164609e-07,
                           -1.8098550334489977e-05, 7.64916091608111e-06,    -1.6120900894563446e-06,
                           4.647127802807434e-09,   1.378633446915721e-07,   -5.752545603517705e-08,
                           1.1951628599778148e-08,  -1.7543241719747647e-11, -1.0091543710600413e-09};
  constexpr double c2[] = {0.004133597883597883,    -0.0026813271604938273, 0.0007716049382716049,
                           2.0093878600823047e-06,  -0.0001073665322636516, 5.2923448829120125e-05,
                           -1.2760635188618728e-05, 3.423578734096138e-08,  1.3721957309062934e-06,
                           -6.298992138380055e-07,  1.4280614206064242e-07, -2.0477098421990866e-10};
  constexpr double c3[] = {0.0006494341563786008,  0.00022947209362139917,  -0.0004691894943952557,
                           0.00026772063206283885, -7.561801671883977e-05,  -2.396505113867297e-07,
                           1.1082654115347302e-05, -5.6749528269915965e-06, 1.4230900732435883e-06,
                           -2.7861080291528143e-11};
  constexpr double c4[] = {-0.0008618882909167117,  0.0007840392217200666, -0.0002990724803031902,
                           -1.4638452578843418e-06, 6.641498215465122e-05, -3.968365047179435e-05,
                           1.1375726970678419e-05};
  const double half_square = less_log((x - a) / a, x / a), root = sqrt(2.0 * half_square), eta = x < a ? -root : root;
  const auto series = [eta](const auto& c) {
    double sum = 0;
    for (int i = static_cast<int>(sizeof(c) / sizeof(double)) - 1; i >= 0; --i) sum = sum * eta + c[i];
    return sum;
  };
  const double r = 1.0 / a;
  const double sum = (((series(c4) * r + series(c3)) * r + series(c2)) * r + series(c1)) * r + series(c0);
  const double rest = exp(-a * half_square) * 0.39894228040143268 / sqrt(a) * sum, t = eta * sqrt(0.5 * a);
  return upper ? 0.5 * erfc(t) + rest : 0.5 * erfc(-t) - rest;
}

/// gammainc, or gammaincc if `upper`.
LOCUS_HD inline double gamma_share(double a, double x, bool upper) {
  const double none = upper ? 1.0 : 0.0, all = 1.0 - none;
  if (!(a >= 0.0 && x >= 0.0) || (a == 0.0 && x == 0.0)) return __builtin_nan("");
  if (x == __builtin_inf()) return a == x ? __builtin_nan("") : all;
  if (a == 0.0) return all;
  if (x == 0.0 || a == __builtin_inf()) return none;
  if (a >= 1000.0 && LOCUS_MATH(fabs)(x - a) <= 0.3 * a) return uniform_gamma(a, x, upper);
  const bool small = x <= 0.5 ? a > -0.4 / log(x) : x * 1.1 < a;  // for x up to 1.1: whether gammainc is small
  if (upper && x <= 1.1 && !small) return upper_gamma_near_zero(a, x);
  if (x <= 1.1 || x <= a) {
    const double lower = gamma_weight(a, x) / a * lower_gamma_series(a, x).value;
    return upper ? 1.0 - lower : lower;
  }
  const double above = gamma_weight(a, x) * upper_gamma_fraction(a, x).value;
  return upper ? above : 1.0 - above;
}

/// Hurwitz's zeta function for s > 1 and q > 0, by the formula of Euler and Maclaurin.
LOCUS_HD inline double zeta_of_positive(double s, double q) {
  // B_2k / (2k)! for k = 1, ..., 10
  constexpr double even[] = {1.0 / 12,
                             -1.0 / 720,
                             1.0 / 30240,
                             -1.0 / 1209600,
                             1.0 / 47900160,
                             -691.0 / 1307674368000.0,
                             1.0 / 74724249600.0,
                             -3617.0 / 10670622842880000.0,
                             43867.0 / 5109094217170944000.0,
                             -174611.0 / 802857662698291200000.0};
  double sum = 0;
  for (; q < 10.0 + s; q += 1.0) {
    const double term = LOCUS_MATH(pow)(q, -s);
    sum += term;
    if (term < 1e-17 * sum) return sum;
  }
  const double first = LOCUS_MATH(pow)(q, -s), z = 1.0 / (q * q);
  sum += first * q / (s - 1.0) + 0.5 * first;
  double factor = s * first / q;
  for (int k = 0; k < 10; ++k) {
    const double term = even[k] * factor;
    sum += term;
    if (LOCUS_MATH(fabs)(term) < 1e-17 * sum) break;
    factor *= (s + 2.0 * k + 1.0) * (s + 2.0 * k + 2.0) * z;
  }
  return sum;
}

/// n! for n up to 170
LOCUS_HD inline double factorial(int n) {
  double product = 1;
  for (int i = 2; i <= n; ++i) product *= i;
  return product;
}

}  // namespace detail

/// The regularized lower incomplete gamma function: the probability that a number of the gamma distribution with
/// concentration a and rate 1 is below x. NaN for negative arguments. To 2e-14 relative, in a tail
/// of probability p to 1e-15 |log p|.
[[nodiscard]] LOCUS_HD inline double gammainc(double a, double x) { return detail::gamma_share(a, x, false); }
/// 1 - gammainc(a, x), without cancellation.
[[nodiscard]] LOCUS_HD inline double gammaincc(double a, double x) { return detail::gamma_share(a, x, true); }

/// The derivative of gammainc by x: the density of the gamma distribution.
[[nodiscard]] LOCUS_HD inline double gammainc_slope(double a, double x) {
  if (x == 0.0) return a > 1.0 ? 0.0 : a == 1.0 ? 1.0 : __builtin_inf();
  return detail::gamma_weight(a, x) / x;
}

/// The derivative of a number x of the gamma distribution by its concentration a, at the same probability: the
/// derivative of gammainc by a, over the negative density. From a = 10,000 on by the expansion of Cornish and Fisher
/// (Abramowitz and Stegun, 26.4.11), to 1e-9 within seven standard deviations.
[[nodiscard]] LOCUS_HD inline double gamma_slope(double a, double x) {
  if (!(a > 0.0 && x > 0.0) || a == __builtin_inf() || x == __builtin_inf()) return x == 0.0 ? 0.0 : __builtin_nan("");
  if (a >= 10000.0) {
    const double root = sqrt(a);
    double z = (x - a) / root;
    for (int i = 0; i < 12; ++i)  // x = a + root z + (z^2 - 1) / 3 + (z^3 - 7 z) / (36 root) - ..., by fixed points
      z = (x - a - (z * z - 1.0) / 3.0 - (z * z - 7.0) * z / (36.0 * root) +
           ((3.0 * z * z + 7.0) * z * z - 16.0) / (810.0 * a)) /
          root;
    return 1.0 + 0.5 * z / root - (z * z - 7.0) * z / (72.0 * a * root) +
           ((3.0 * z * z + 7.0) * z * z - 16.0) / (810.0 * a * a);
  }
  if (x <= 1.1 || x <= a) {
    const auto series = detail::lower_gamma_series(a, x);
    return -x / a * (series.value * (log(x) - digamma(a + 1.0)) + series.slope);
  }
  const auto fraction = detail::upper_gamma_fraction(a, x);
  return x * (fraction.value * (log(x) - digamma(a)) + fraction.slope);
}

/// Hurwitz's zeta function, the sum of (q + k)^-s over k = 0, 1, ...: infinite for s = 1 and q = 0, -1, ..., NaN for
/// s < 1, and for q < 0 unless s is an integer. To about 1e-15 relative, for q < 0 of the larger term.
[[nodiscard]] LOCUS_HD inline double zeta(double s, double q) {
  if (s == 1.0) return __builtin_inf();
  if (!(s > 1.0) || q != q) return __builtin_nan("");
  if (q > 0.0) return detail::zeta_of_positive(s, q);
  const double part = q - floor(q);
  if (part == 0.0) return __builtin_inf();
  if (s != floor(s)) return __builtin_nan("");
  const double mirrored = detail::zeta_of_positive(s, 1.0 - part) - detail::zeta_of_positive(s, 1.0 - q);
  return detail::zeta_of_positive(s, part) + (fmod(s, 2.0) == 0.0 ? mirrored : -mirrored);
}

/// The n-th derivative of digamma, for n >= 0.
[[nodiscard]] LOCUS_HD inline double polygamma(int n, double x) {
  if (n == 0) return digamma(x);
  if (n == 1) return trigamma(x);
  const double sum = detail::factorial(n) * zeta(n + 1.0, x);
  return n % 2 == 0 ? -sum : sum;
}

/// The logarithm of the multivariate gamma function of dimension p, for x > (p - 1) / 2.
[[nodiscard]] LOCUS_HD inline double mvlgamma(double x, int p) {
  double sum = 0.28618247146235004 * p * (p - 1);  // log(pi) / 4
  for (int j = 0; j < p; ++j) sum += lgamma(x - 0.5 * j);
  return sum;
}
[[nodiscard]] LOCUS_HD inline double mvlgamma_slope(double x, int p) {
  double sum = 0;
  for (int j = 0; j < p; ++j) sum += digamma(x - 0.5 * j);
  return sum;
}

[[nodiscard]] LOCUS_FN float gammainc(float a, float x) {
  return static_cast<float>(gammainc(static_cast<double>(a), static_cast<double>(x)));
}
[[nodiscard]] LOCUS_FN float gammaincc(float a, float x) {
  return static_cast<float>(gammaincc(static_cast<double>(a), static_cast<double>(x)));
}
[[nodiscard]] LOCUS_FN float gamma_slope(float a, float x) {
  return static_cast<float>(gamma_slope(static_cast<double>(a), static_cast<double>(x)));
}
[[nodiscard]] LOCUS_FN float zeta(float s, float q) {
  return static_cast<float>(zeta(static_cast<double>(s), static_cast<double>(q)));
}
[[nodiscard]] LOCUS_FN float polygamma(int n, float x) {
  return static_cast<float>(polygamma(n, static_cast<double>(x)));
}
[[nodiscard]] LOCUS_FN float mvlgamma(float x, int p) {
  return static_cast<float>(mvlgamma(static_cast<double>(x), p));
}
[[nodiscard]] LOCUS_FN float mvlgamma_slope(float x, int p) {
  return static_cast<float>(mvlgamma_slope(static_cast<double>(x), p));
}

}}}  // namespace locus::LOCUS_ABI::math
