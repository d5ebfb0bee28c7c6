#pragma once
// Random numbers of distributions that are drawn by rejection: gamma, Poisson and binomial. Each number has a
// subsequence of its own, so that rejected candidates change no other number. Computed in double for every element
// type, so that devices that round differently accept the same candidates, up to once in some 10^14.

#include <locus/core/math/gamma.hpp>
#include <locus/core/rng.hpp>

namespace locus { inline namespace LOCUS_ABI { namespace detail {

/// The random bits of number `index` of a stream: as many blocks as it needs, up to 2^32.
class Subsequence {
 public:
  LOCUS_FN Subsequence(std::uint64_t seed, std::uint64_t index, std::uint64_t stream)
      : seed_(seed), index_(index), stream_(stream) {}
  LOCUS_FN PhiloxBlock next() {
    const PhiloxBlock block = random_block(seed_, index_, stream_);
    stream_ += std::uint64_t{1} << 32;
    return block;
  }
  /// Two uniform numbers in (0, 1).
  LOCUS_FN NormalPair<double> uniforms() {
    const PhiloxBlock block = next();
    return {unit_double(block.x, block.y) + 0x1p-54, unit_double(block.z, block.w) + 0x1p-54};
  }

 private:
  std::uint64_t seed_, index_, stream_;
};

/// More candidates than any number needs: the chance of as many rejections is below 2^-200.
inline constexpr int most_candidates = 1000;

/// A gamma-distributed number as value * e^log_factor, so that its logarithm is finite for small concentrations too.
struct GammaDraw {
  double value, log_factor;
};
/// Of rate 1. NaN for a concentration that is not above 0.
/// Marsaglia and Tsang, A simple method for generating gamma variables, 2000; concentrations below 1 by u^(1 / a).
LOCUS_HD inline GammaDraw gamma_draw(double concentration, Subsequence& numbers) {
  if (!(concentration > 0.0)) return {__builtin_nan(""), 0.0};
  if (concentration == __builtin_inf()) return {concentration, 0.0};
  const bool boosted = concentration < 1.0;
  const double d = (boosted ? concentration + 1.0 : concentration) - 1.0 / 3, c = 1.0 / (3.0 * math::sqrt(d));
  double value = d;
  for (int i = 0; i < most_candidates; i += 2) {
    const auto normal = normal_pair_double(numbers.next());
    const auto uniform = numbers.uniforms();
    const auto accepts = [&](double z, double u) {
      const double root = 1.0 + c * z, v = root * root * root;
      value = d * v;
      if (root <= 0.0) return false;
      return u < 1.0 - 0.0331 * z * z * z * z || math::log(u) < 0.5 * z * z + d * (1.0 - v + math::log(v));
    };
    if (accepts(normal.first, uniform.first) || accepts(normal.second, uniform.second)) break;
  }
  return {value, boosted ? math::log(numbers.uniforms().first) / concentration : 0.0};
}

/// stirling_rest for every x > 0
LOCUS_HD inline double rest_of_stirling(double x) {
  if (x >= 10.0) return math::detail::stirling_rest(x);
  return math::lgamma(x) - (x - 0.5) * math::log(x) + x - 0.91893853320467274;
}
/// k log(k / mean) + mean - k for k > 0: the deviance of k from a mean.
LOCUS_HD inline double deviance(double k, double mean) { return k * math::detail::less_log((mean - k) / k, mean / k); }

/// log(rate^k e^-rate / k!), without the cancellation of large terms (Loader, Fast and accurate computation of binomial
/// probabilities, 2000).
LOCUS_HD inline double log_poisson(double k, double rate) {
  if (k == 0.0) return -rate;
  return -deviance(k, rate) - rest_of_stirling(k) - 0.5 * math::log(6.28318530717958648 * k);
}
/// The logarithm of the probability of k successes of n.
LOCUS_HD inline double log_binomial(double k, double n, double p) {
  if (k == 0.0) return n * math::log1p(-p);
  if (k == n) return n * math::log(p);
  const double rest = rest_of_stirling(n) - rest_of_stirling(k) - rest_of_stirling(n - k);
  return rest - deviance(k, n * p) - deviance(n - k, n * (1.0 - p)) -
         0.5 * math::log(6.28318530717958648 * k * ((n - k) / n));
}

/// A Poisson-distributed number; NaN for a rate that is negative or not finite. Below a rate of 10 by inversion, else
/// by the transformed rejection of Hörmann, PTRS, 1993.
LOCUS_HD inline double poisson_draw(double rate, Subsequence& numbers) {
  if (!(rate >= 0.0 && rate < __builtin_inf())) return __builtin_nan("");
  if (rate < 10.0) {
    const double u = numbers.uniforms().first;
    double probability = math::exp(-rate), below = probability, k = 0;
    while (u > below && k < 200.0) {
      k += 1.0;
      probability *= rate / k;
      below += probability;
    }
    return k;
  }
  const double b = 0.931 + 2.53 * math::sqrt(rate), a = -0.059 + 0.02483 * b;
  const double inverse_alpha = 1.1239 + 1.1328 / (b - 3.4), squeeze = 0.9277 - 3.6224 / (b - 2.0);
  double k = rate;
  for (int i = 0; i < most_candidates; ++i) {
    const auto pair = numbers.uniforms();
    const double u = pair.first - 0.5, v = pair.second, distance = 0.5 - LOCUS_MATH(fabs)(u);
    k = math::floor((2.0 * a / distance + b) * u + rate + 0.43);
    if (distance >= 0.07 && v <= squeeze) return k;
    if (k < 0.0 || (distance < 0.013 && v > distance)) continue;
    if (math::log(v * inverse_alpha / (a / (distance * distance) + b)) <= log_poisson(k, rate)) return k;
  }
  return k < 0.0 ? 0.0 : k;
}

/// For p <= 1/2: by inversion where the mean is below 10, else by the transformed rejection of Hörmann, BTRS, 1993.
LOCUS_HD inline double binomial_draw_of_half(double n, double p, Subsequence& numbers) {
  if (n * p < 10.0) {
    const double u = numbers.uniforms().first, odds = p / (1.0 - p);
    double probability = math::exp(n * math::log1p(-p)), below = probability, k = 0;
    while (u > below && k < n && k < 200.0) {
      probability *= (n - k) / (k + 1.0) * odds;
      k += 1.0;
      below += probability;
    }
    return k;
  }
  const double deviation = math::sqrt(n * p * (1.0 - p)), b = 1.15 + 2.53 * deviation;
  const double a = -0.0873 + 0.0248 * b + 0.01 * p, squeeze = 0.92 - 4.2 / b;
  const double alpha = (2.83 + 5.1 / b) * deviation, mode = math::floor((n + 1.0) * p);
  const double at_mode = log_binomial(mode, n, p);
  double k = mode;
  for (int i = 0; i < most_candidates; ++i) {
    const auto pair = numbers.uniforms();
    const double u = pair.first - 0.5, v = pair.second, distance = 0.5 - LOCUS_MATH(fabs)(u);
    k = math::floor((2.0 * a / distance + b) * u + n * p + 0.5);
    if (distance >= 0.07 && v <= squeeze) return k;
    if (k < 0.0 || k > n) continue;
    if (math::log(v * alpha / (a / (distance * distance) + b)) <= log_binomial(k, n, p) - at_mode) return k;
  }
  return mode;
}
/// The number of successes of n trials of probability p; NaN unless n is 0 or more and p in [0, 1].
LOCUS_HD inline double binomial_draw(double n, double p, Subsequence& numbers) {
  if (!(n >= 0.0 && n < __builtin_inf() && p >= 0.0 && p <= 1.0)) return __builtin_nan("");
  return p <= 0.5 ? binomial_draw_of_half(n, p, numbers) : n - binomial_draw_of_half(n, 1.0 - p, numbers);
}

}}}  // namespace locus::LOCUS_ABI::detail
