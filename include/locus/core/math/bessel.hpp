#pragma once
// Modified Bessel functions of the first kind. A loop for each element, of float in double.

#include <locus/core/math.hpp>

namespace locus { inline namespace LOCUS_ABI { namespace math {

namespace detail {

/// c[0] + c[1] T_1(x) + c[2] T_2(x) + ... of Chebyshev polynomials, for |x| <= 1: Clenshaw's sum.
template <int n>
LOCUS_HD inline double chebyshev_sum(const double (&c)[n], double x) {
  double last = 0, sum = 0;
  for (int i = n - 1; i > 0; --i) {
    const double before = last;
    last = sum;
    sum = 2.0 * x * last - before + c[i];
  }
  return x * sum - last + c[0];
}

// The series below interpolate in Chebyshev points, up to the first coefficient below 1e-17 of the largest: e^-x I0(x)
// and e^-x I1(x) / x for x up to 8; sqrt(x) e^-x I(x) in 8 / x beyond.

/// e^-x I0(x) for x >= 0
LOCUS_HD inline double scaled_i0(double x) {
  constexpr double near[] = {
      0.33839763720473804,    -0.3046826723431984,     0.17162090152220878,    -0.094901097048047644,
      0.049305284239670708,   -0.023737414805899469,   0.010546460394594998,   -0.0043243099950505759,
      0.0016394756169413358,  -0.00057637557453858237, 0.00018850288509584166, -5.7541950100821037e-5,
      1.6448448070728897e-5,  -4.4167383584587506e-6,  1.1173875391201037e-6,  -2.6707938539406117e-7,
      6.0469950225419189e-8,  -1.300025009986248e-8,   2.6598237246823867e-9,  -5.1897956016352629e-10,
      9.6758090353732369e-11, -1.7268262914415557e-11, 2.9550526631296398e-12, -4.8564467831119295e-13,
      7.6761854986049356e-14, -1.1685332877993452e-14, 1.715391285555133e-15,  -2.4312798465479547e-16,
      3.3307945188222381e-17, -4.4153416464793394e-18};
  constexpr double far[] = {
      0.40224520550705442,     0.0033691164782556941,   6.889758346916824e-5,    2.8913705208347565e-6,
      2.0489185894690637e-7,   2.2666689904981781e-8,   3.3962320257083863e-9,   4.9406023882249696e-10,
      1.1889147107846438e-11,  -3.1499165279632414e-11, -1.3215811840447713e-11, -1.7941785315068061e-12,
      7.1801244513836662e-13,  3.8527783827421427e-13,  1.5400862175214098e-14,  -4.1505693472872221e-14,
      -9.5548466988283076e-15, 3.8116806693526224e-15,  1.7725601330565264e-15,  -3.4254856196772191e-16,
      -2.8276239805165835e-16, 3.4612228676974611e-17,  4.46562142029676e-17,    -4.8305044859441821e-18,
      -7.233180487874754e-18};
  return x <= 8.0 ? chebyshev_sum(near, x * 0.25 - 1.0) : chebyshev_sum(far, 16.0 / x - 1.0) / sqrt(x);
}
/// e^-x I1(x) for x >= 0
LOCUS_HD inline double scaled_i1(double x) {
  constexpr double near[] = {
      0.12629359322181683,    -0.17641651835783406,    0.1026436586898471,     -0.052945981208094991,
      0.024726449030626517,   -0.010564084894626198,   0.0041564229443128882,  -0.0015135724506312531,
      0.00051228595616857577, -0.00016176081582589675, 4.7815651075500542e-5,  -1.3273163656039436e-5,
      3.4702513081376785e-6,  -8.5687202646954547e-7,  2.0032947535521353e-7,  -4.4450591287963281e-8,
      9.3815373864957718e-9,  -1.8872497517228293e-9,  3.625590281552117e-10,  -6.6634897235020277e-11,
      1.1736186298890902e-11, -1.9839743977649437e-12, 3.2237933659455747e-13, -5.0421855047279117e-14,
      7.6006842947354069e-15, -1.1055969477353863e-15, 1.5536319577362005e-16, -2.1114212143581661e-17,
      2.7779141127610464e-18};
  constexpr double far[] = {
      0.38928811750914006,     -0.0097610974913614684,  -0.00011058893876262372, -3.8825648088776904e-6,
      -2.5122362378702089e-7,  -2.6314688468895195e-8,  -3.835380385964237e-9,   -5.5897434621965838e-10,
      -1.8974958123505412e-11, 3.2526035830154882e-11,  1.4125807436613781e-11,  2.0356285441470895e-12,
      -7.1985517762459085e-13, -4.0835511110921973e-13, -2.1015418427726643e-14, 4.2724400167119514e-14,
      1.0420276984128803e-14,  -3.8144030724370078e-15, -1.8803547755107824e-15, 3.3082023109209283e-16,
      2.9626289976459501e-16,  -3.209525921993424e-17,  -4.6503053684893583e-17, 4.4143483230717079e-18,
      7.5172963108421048e-18};
  return x <= 8.0 ? x * chebyshev_sum(near, x * 0.25 - 1.0) : chebyshev_sum(far, 16.0 / x - 1.0) / sqrt(x);
}
/// y e^x, where e^x alone may overflow.
LOCUS_HD inline double times_exp(double y, double x) {
  const double half = exp(0.5 * x);
  return x > 700.0 ? y * half * half : y * exp(x);
}
LOCUS_FN double magnitude_of(double x) { return x < 0.0 ? -x : x; }

}  // namespace detail

/// e^-|x| I0(x): 1 at 0
[[nodiscard]] LOCUS_HD inline double i0e(double x) { return detail::scaled_i0(detail::magnitude_of(x)); }
/// e^-|x| I1(x), odd
[[nodiscard]] LOCUS_HD inline double i1e(double x) {
  const double y = detail::scaled_i1(detail::magnitude_of(x));
  return x < 0.0 ? -y : y;
}
/// I0(x); infinite beyond 713.9
[[nodiscard]] LOCUS_HD inline double i0(double x) {
  const double a = detail::magnitude_of(x);
  return a < 800.0 || a != a ? detail::times_exp(detail::scaled_i0(a), a) : __builtin_inf();
}
/// I1(x), odd
[[nodiscard]] LOCUS_HD inline double i1(double x) {
  const double a = detail::magnitude_of(x);
  const double y = a < 800.0 || a != a ? detail::times_exp(detail::scaled_i1(a), a) : __builtin_inf();
  return x < 0.0 ? -y : y;
}

[[nodiscard]] LOCUS_FN float i0e(float x) { return static_cast<float>(i0e(static_cast<double>(x))); }
[[nodiscard]] LOCUS_FN float i1e(float x) { return static_cast<float>(i1e(static_cast<double>(x))); }
[[nodiscard]] LOCUS_FN float i0(float x) { return static_cast<float>(i0(static_cast<double>(x))); }
[[nodiscard]] LOCUS_FN float i1(float x) { return static_cast<float>(i1(static_cast<double>(x))); }

}}}  // namespace locus::LOCUS_ABI::math
