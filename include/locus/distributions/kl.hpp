#pragma once
// Kullback-Leibler divergences in closed form: the pairs of torch.distributions.kl among these distributions. The
// multivariate normal distribution's is beside it, in distributions/multivariate_normal.hpp.

#include <locus/distributions/bernoulli.hpp>
#include <locus/distributions/beta.hpp>
#include <locus/distributions/exponential.hpp>
#include <locus/distributions/gamma.hpp>
#include <locus/distributions/independent.hpp>
#include <locus/distributions/poisson.hpp>
#include <locus/distributions/uniform.hpp>

namespace locus { inline namespace LOCUS_ABI { namespace distributions {

namespace detail {

template <class P>
concept IsDistribution = requires(const P& p) {
  typename P::handle_type;
  p.batch_shape();
  p.event_shape();
};
/// The mistake in two distributions to compare.
template <class P, class Q>
struct DivergenceMistake : locus::detail::NoMistake {};
template <IsDistribution P, IsDistribution Q>
struct DivergenceMistake<P, Q> : locus::detail::Mistake<typename P::handle_type, typename Q::handle_type> {};

/// Whether draws of the first leave the support of the second, for all parameters.
template <template <class> class P, template <class> class Q>
inline constexpr bool goes_beyond = false;
template <>
inline constexpr bool goes_beyond<Exponential, Beta> = true;
template <>
inline constexpr bool goes_beyond<Exponential, Uniform> = true;
template <>
inline constexpr bool goes_beyond<Gamma, Beta> = true;
template <>
inline constexpr bool goes_beyond<Gamma, Uniform> = true;
template <>
inline constexpr bool goes_beyond<Laplace, Beta> = true;
template <>
inline constexpr bool goes_beyond<Laplace, Exponential> = true;
template <>
inline constexpr bool goes_beyond<Laplace, Gamma> = true;
template <>
inline constexpr bool goes_beyond<Laplace, Uniform> = true;
template <>
inline constexpr bool goes_beyond<Normal, Beta> = true;
template <>
inline constexpr bool goes_beyond<Normal, Exponential> = true;
template <>
inline constexpr bool goes_beyond<Normal, Gamma> = true;
template <>
inline constexpr bool goes_beyond<Normal, Uniform> = true;
template <>
inline constexpr bool goes_beyond<Poisson, Bernoulli> = true;
template <>
inline constexpr bool goes_beyond<Poisson, Binomial> = true;

inline constexpr double infinity = __builtin_inf(), pi = 3.14159265358979323846, euler_gamma = 0.57721566490153286061;

// Formulas, of symbols of fuse.

inline constexpr auto normal_to_normal = [](auto m, auto s, auto n, auto t) {
  return (square(s / t) + square((m - n) / t) - 1) * 0.5 - log(s / t);
};
inline constexpr auto bernoulli_to_bernoulli = [](auto l, auto k) {
  return where(sigmoid(l) > 0, sigmoid(l) * (softplus(-k) - softplus(-l)), 0) +
         where(sigmoid(-l) > 0, sigmoid(-l) * (softplus(k) - softplus(l)), 0);
};
inline constexpr auto beta_entropy = [](auto a, auto b) {
  return lbeta(a, b) - (a - 1) * digamma(a) - (b - 1) * digamma(b) + (a + b - 2) * digamma(a + b);
};
/// The mean of log x for a uniform x from a to b.
inline constexpr auto mean_log = [](auto a, auto b) { return (xlogy(b, b) - xlogy(a, a)) / (b - a) - 1; };

}  // namespace detail

// kl_divergence(p, q): the mean of p.log_prob(x) - q.log_prob(x) over draws x of p.
// shape: the batch shapes broadcast     gradient: to the parameters of both     cost: one launch, pending, for most
// pairs

template <class P, class Q>
  requires Combinable<P, Q>
[[nodiscard]] auto kl_divergence(const Normal<P>& p, const Normal<Q>& q) {
  return fuse(detail::normal_to_normal, p.loc(), p.scale(), q.loc(), q.scale());
}
template <class P, class Q>
  requires Combinable<P, Q>
[[nodiscard]] auto kl_divergence(const LogNormal<P>& p, const LogNormal<Q>& q) {
  return fuse(detail::normal_to_normal, p.loc(), p.scale(), q.loc(), q.scale());
}
template <class P, class Q>
  requires Combinable<P, Q>
[[nodiscard]] auto kl_divergence(const Normal<P>& p, const Laplace<Q>& q) {
  return fuse(
      [](auto m, auto s, auto n, auto t) {
        const auto z = (m - n) / s;
        return (s * exp(square(z) * -0.5) * 0.79788456080286536 + (m - n) * erf(z * 0.70710678118654752)) / t -
               log(s / t) - 0.72579135264472741;
      },
      p.loc(), p.scale(), q.loc(), q.scale());
}
template <class P, class Q>
  requires Combinable<P, Q>
[[nodiscard]] auto kl_divergence(const Laplace<P>& p, const Laplace<Q>& q) {
  return fuse(
      [](auto m, auto s, auto n, auto t) {
        const auto distance = abs(m - n);
        return distance / t + s / t * exp(-distance / s) - 1 - log(s / t);
      },
      p.loc(), p.scale(), q.loc(), q.scale());
}
template <class P, class Q>
  requires Combinable<P, Q>
[[nodiscard]] auto kl_divergence(const Laplace<P>& p, const Normal<Q>& q) {
  return fuse(
      [](auto m, auto s, auto n, auto t) {
        return square(s / t) + square((m - n) / t) * 0.5 - log(square(s / t) * (2 / detail::pi)) * 0.5 - 1;
      },
      p.loc(), p.scale(), q.loc(), q.scale());
}

template <class P, class Q>
  requires Combinable<P, Q>
[[nodiscard]] auto kl_divergence(const Bernoulli<P>& p, const Bernoulli<Q>& q) {
  return fuse(detail::bernoulli_to_bernoulli, p.logits(), q.logits());
}
template <class P, class Q>
  requires Combinable<P, Q>
[[nodiscard]] auto kl_divergence(const Bernoulli<P>& p, const Poisson<Q>& q) {
  return fuse([](auto l, auto r) { return r - sigmoid(l) * log(r) - detail::bernoulli_entropy(l); }, p.logits(),
              q.rate());
}
/// Infinite where p has more trials than q. throws ArgumentError where it has fewer, as there is no closed form, if the
/// host can read the counts
template <class P, class Q>
  requires Combinable<P, Q>
[[nodiscard]] auto kl_divergence(const Binomial<P>& p, const Binomial<Q>& q) {
  detail::require_pair("kl_divergence", "the first number of trials", p.total_count(), "the second", q.total_count(),
                       "a first number that is not less", [](double n, double other) { return n >= other; });
  return fuse([](auto n, auto l, auto o,
                 auto k) { return where(n > o, detail::infinity, n * detail::bernoulli_to_bernoulli(l, k)); },
              p.total_count(), p.logits(), q.total_count(), q.logits());
}
template <class P, class Q>
  requires Combinable<P, Q>
[[nodiscard]] auto kl_divergence(const Categorical<P>& p, const Categorical<Q>& q) {
  return sum(fuse([](auto l, auto k) { return where(exp(l) > 0, exp(l) * (l - k), 0); }, p.logits(), q.logits()), -1);
}
template <class P, class Q>
  requires Combinable<P, Q>
[[nodiscard]] auto kl_divergence(const Poisson<P>& p, const Poisson<Q>& q) {
  return fuse([](auto r, auto s) { return xlogy(r, r) - xlogy(r, s) - r + s; }, p.rate(), q.rate());
}

template <class P, class Q>
  requires Combinable<P, Q>
[[nodiscard]] auto kl_divergence(const Exponential<P>& p, const Exponential<Q>& q) {
  return fuse([](auto r, auto s) { return s / r - 1 - log(s / r); }, p.rate(), q.rate());
}
template <class P, class Q>
  requires Combinable<P, Q>
[[nodiscard]] auto kl_divergence(const Exponential<P>& p, const Gamma<Q>& q) {
  return fuse(
      [](auto r, auto a, auto s) {
        return s / r - a * log(s / r) + lgamma(a) + a * detail::euler_gamma - (1 + detail::euler_gamma);
      },
      p.rate(), q.concentration(), q.rate());
}
template <class P, class Q>
  requires Combinable<P, Q>
[[nodiscard]] auto kl_divergence(const Exponential<P>& p, const Normal<Q>& q) {
  return fuse(
      [](auto r, auto n, auto t) {
        return log(r * t) + (detail::half_log_two_pi - 1) +
               (reciprocal(square(r)) - n / r + square(n) * 0.5) / square(t);
      },
      p.rate(), q.loc(), q.scale());
}
template <class P, class Q>
  requires Combinable<P, Q>
[[nodiscard]] auto kl_divergence(const Gamma<P>& p, const Gamma<Q>& q) {
  return fuse([](auto a, auto r, auto b,
                 auto s) { return b * log(r / s) + lgamma(b) - lgamma(a) + (a - b) * digamma(a) + (s - r) * (a / r); },
              p.concentration(), p.rate(), q.concentration(), q.rate());
}
template <class P, class Q>
  requires Combinable<P, Q>
[[nodiscard]] auto kl_divergence(const Gamma<P>& p, const Exponential<Q>& q) {
  return fuse([](auto a, auto r, auto s) { return log(r / s) - lgamma(a) + (a - 1) * digamma(a) + (s / r - 1) * a; },
              p.concentration(), p.rate(), q.rate());
}
template <class P, class Q>
  requires Combinable<P, Q>
[[nodiscard]] auto kl_divergence(const Gamma<P>& p, const Normal<Q>& q) {
  return fuse(
      [](auto a, auto r, auto n, auto t) {
        return log(r * t) + detail::half_log_two_pi - a - lgamma(a) + (a - 1) * digamma(a) +
               (a * (a + 1) / square(r) * 0.5 - n * a / r + square(n) * 0.5) / square(t);
      },
      p.concentration(), p.rate(), q.loc(), q.scale());
}

template <class P, class Q>
  requires Combinable<P, Q>
[[nodiscard]] auto kl_divergence(const Beta<P>& p, const Beta<Q>& q) {
  return fuse(
      [](auto a, auto b, auto c, auto d) {
        return lbeta(c, d) - lbeta(a, b) + (a - c) * digamma(a) + (b - d) * digamma(b) +
               (c + d - a - b) * digamma(a + b);
      },
      p.concentration1(), p.concentration0(), q.concentration1(), q.concentration0());
}
template <class P, class Q>
  requires Combinable<P, Q>
[[nodiscard]] auto kl_divergence(const Beta<P>& p, const Exponential<Q>& q) {
  return fuse([](auto a, auto b, auto r) { return r * a / (a + b) - log(r) - detail::beta_entropy(a, b); },
              p.concentration1(), p.concentration0(), q.rate());
}
template <class P, class Q>
  requires Combinable<P, Q>
[[nodiscard]] auto kl_divergence(const Beta<P>& p, const Gamma<Q>& q) {
  return fuse(
      [](auto a, auto b, auto c, auto r) {
        return lgamma(c) - c * log(r) - (c - 1) * (digamma(a) - digamma(a + b)) + r * a / (a + b) -
               detail::beta_entropy(a, b);
      },
      p.concentration1(), p.concentration0(), q.concentration(), q.rate());
}
template <class P, class Q>
  requires Combinable<P, Q>
[[nodiscard]] auto kl_divergence(const Beta<P>& p, const Normal<Q>& q) {
  return fuse(
      [](auto a, auto b, auto n, auto t) {
        const auto middle = a / (a + b);
        const auto variance = a * b / (square(a + b) * (a + b + 1));
        return (variance + square(middle - n)) / square(t) * 0.5 + log(t) + detail::half_log_two_pi -
               detail::beta_entropy(a, b);
      },
      p.concentration1(), p.concentration0(), q.loc(), q.scale());
}
template <class P, class Q>
  requires Combinable<P, Q>
[[nodiscard]] auto kl_divergence(const Beta<P>& p, const Uniform<Q>& q) {
  return fuse(
      [](auto a, auto b, auto low, auto high) {
        return where(low > 0 || high < 1, detail::infinity, log(high - low) - detail::beta_entropy(a, b));
      },
      p.concentration1(), p.concentration0(), q.low(), q.high());
}
template <class P, class Q>
  requires Combinable<P, Q>
[[nodiscard]] auto kl_divergence(const Dirichlet<P>& p, const Dirichlet<Q>& q) {
  const auto& a = p.concentration();
  const auto all = sum(a, -1), other = sum(q.concentration(), -1);
  const auto terms =
      sum(fuse([](auto c, auto t, auto d) { return lgamma(d) - lgamma(c) + (c - d) * (digamma(c) - digamma(t)); }, a,
               all.unsqueeze(-1), q.concentration()),
          -1);
  return fuse([](auto x, auto t, auto o) { return x + lgamma(t) - lgamma(o); }, terms, all, other);
}

template <class P, class Q>
  requires Combinable<P, Q>
[[nodiscard]] auto kl_divergence(const Uniform<P>& p, const Uniform<Q>& q) {
  return fuse([](auto a, auto b, auto low,
                 auto high) { return where(low > a || high < b, detail::infinity, log((high - low) / (b - a))); },
              p.low(), p.high(), q.low(), q.high());
}
template <class P, class Q>
  requires Combinable<P, Q>
[[nodiscard]] auto kl_divergence(const Uniform<P>& p, const Normal<Q>& q) {
  return fuse(
      [](auto a, auto b, auto n, auto t) {
        return log(t / (b - a)) + detail::half_log_two_pi +
               (square(b - a) * (1.0 / 12) + square((a + b) * 0.5 - n)) / square(t) * 0.5;
      },
      p.low(), p.high(), q.loc(), q.scale());
}
template <class P, class Q>
  requires Combinable<P, Q>
[[nodiscard]] auto kl_divergence(const Uniform<P>& p, const Exponential<Q>& q) {
  return fuse(
      [](auto a, auto b, auto r) { return where(a < 0, detail::infinity, r * (a + b) * 0.5 - log((b - a) * r)); },
      p.low(), p.high(), q.rate());
}
template <class P, class Q>
  requires Combinable<P, Q>
[[nodiscard]] auto kl_divergence(const Uniform<P>& p, const Gamma<Q>& q) {
  return fuse(
      [](auto a, auto b, auto c, auto r) {
        return where(a < 0, detail::infinity,
                     lgamma(c) - c * log(r) - (c - 1) * detail::mean_log(a, b) + r * (a + b) * 0.5 - log(b - a));
      },
      p.low(), p.high(), q.concentration(), q.rate());
}
template <class P, class Q>
  requires Combinable<P, Q>
[[nodiscard]] auto kl_divergence(const Uniform<P>& p, const Beta<Q>& q) {
  return fuse(
      [](auto a, auto b, auto c, auto d) {
        return where(
            a < 0 || b > 1, detail::infinity,
            lbeta(c, d) - (c - 1) * detail::mean_log(a, b) - (d - 1) * detail::mean_log(1 - b, 1 - a) - log(b - a));
      },
      p.low(), p.high(), q.concentration1(), q.concentration0());
}

/// Of independent dimensions the sum of the divergences. throws ArgumentError for other numbers of dimensions
template <class P, class Q>
  requires requires(const P& p, const Q& q) { kl_divergence(p, q); }
[[nodiscard]] auto kl_divergence(const Independent<P>& p, const Independent<Q>& q) {
  if (p.dims() != q.dims())
    fail<ArgumentError>(
        {"kl_divergence: Independent of ", p.dims(), " and of ", q.dims(), " dimensions; expected equal numbers"});
  return detail::sum_of_last(kl_divergence(p.base(), q.base()), p.dims());
}
/// Infinite: draws of p leave the support of q.
template <template <class> class F, template <class> class G, class P, class Q>
  requires(detail::goes_beyond<F, G> && Combinable<P, Q>)
[[nodiscard]] auto kl_divergence(const F<P>& p, const G<Q>& q) {
  return full<value_of<P>>(broadcast(p.batch_shape(), q.batch_shape(), "kl_divergence"), detail::infinity, p.device());
}

#include <locus/refuse/distributions/kl.inc>

}}}  // namespace locus::LOCUS_ABI::distributions
