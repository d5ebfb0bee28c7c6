#pragma once
// Beta and Dirichlet distributions.

#include <locus/distributions/distribution.hpp>
#include <locus/ops/softmax.hpp>

namespace locus { inline namespace LOCUS_ABI {
namespace distributions { namespace detail {

/// The largest number of T below 1.
template <class T>
LOCUS_FN constexpr double largest_below_one() {
  return std::is_same_v<T, double>     ? 1 - 0x1p-53
         : std::is_same_v<T, half>     ? 1 - 0x1p-11
         : std::is_same_v<T, bfloat16> ? 1 - 0x1p-8
                                       : 1 - 0x1p-24;
}
template <class T>
LOCUS_FN double within_unit(double x) {
  constexpr double low = locus::detail::smallest_normal<T>(), high = largest_below_one<T>();
  return x < low ? low : x > high ? high : x;
}

/// Of two gamma-distributed numbers, by their logarithms: for small concentrations both may be below every number.
struct BetaSampler {
  static constexpr auto stream = locus::detail::stream_of_gammas;
  template <class T>
  LOCUS_FN double draw(locus::detail::Subsequence& numbers, double a, double b) const {
    const auto first = locus::detail::gamma_draw(a, numbers), second = locus::detail::gamma_draw(b, numbers);
    const double ratio = second.value / first.value * math::exp(second.log_factor - first.log_factor);
    return within_unit<T>(1.0 / (1.0 + ratio));
  }
};
/// The logarithm of a gamma-distributed number.
struct LogGammaSampler {
  static constexpr auto stream = locus::detail::stream_of_gammas;
  template <class T>
  LOCUS_FN double draw(locus::detail::Subsequence& numbers, double concentration) const {
    const auto drawn = locus::detail::gamma_draw(concentration, numbers);
    return math::log(drawn.value) + drawn.log_factor;
  }
};
template <class T>
struct WithinUnit {
  static constexpr bool differentiable = false;
  template <class R> LOCUS_FN R operator()(R x) const { return static_cast<R>(within_unit<T>(static_cast<double>(x))); }
};

/// g times the derivative of a beta-distributed number x by its first parameter, or, of 1 - x, by its second.
template <bool by_first>
struct BetaPull {
  static constexpr bool takes_long = true;
  static constexpr bool differentiable = false;
  template <class R>
  LOCUS_FN R operator()(R g, R a, R b, R x) const {
    if (g == R(0)) return R(0);
    const double p = static_cast<double>(a), q = static_cast<double>(b), y = static_cast<double>(x), rest = 1.0 - y;
    return g * static_cast<R>(by_first ? math::detail::beta_slope(p, q, y, rest)
                                       : -math::detail::beta_slope(q, p, rest, y));
  }
};
/// The factor of (g - sum of g x) in the gradient of a Dirichlet-distributed number x by its concentration, given the
/// sum of all: the derivative of the beta distribution of x, over 1 - x.
struct DirichletFactor {
  static constexpr bool takes_long = true;
  static constexpr bool differentiable = false;
  template <class R>
  LOCUS_FN R operator()(R x, R concentration, R total) const {
    const double a = static_cast<double>(concentration), y = static_cast<double>(x), rest = 1.0 - y;
    return static_cast<R>(math::detail::beta_slope(a, static_cast<double>(total) - a, y, rest) / rest);
  }
};

}}  // namespace distributions::detail

namespace operation {

template <class Source>
struct Beta {
  static constexpr const char* name = "beta";
  Source source;

  template <class T, class D>
  auto forward(const Tensor<T, D>& a, const Tensor<T, D>& b) const {
    detail::require_recorded_draw<T>();
    const Tensor<T, D> x = detail::sampled<T>(a.shape(), source, distributions::detail::BetaSampler{}, a, b);
    return Forwarded{x, Tuple(a, b, x)};
  }
  template <class T, class D>
  void backward(const Tuple<Tensor<T, D>, Tensor<T, D>, Tensor<T, D>>& saved, const Tensor<T, D>& g, Gradient<T, D>& da,
                Gradient<T, D>& db) const {
    const auto& [a, b, x] = saved;
    if (da) detail::map_to(da, distributions::detail::BetaPull<true>{}, g, a, b, x);
    if (db) detail::map_to(db, distributions::detail::BetaPull<false>{}, g, a, b, x);
  }
};

template <class Source>
struct Dirichlet {
  static constexpr const char* name = "dirichlet";
  Source source;

  template <class T, class D>
  auto forward(const Tensor<T, D>& concentration) const {
    detail::require_recorded_draw<T>();
    const Tensor<T, D> logs =
        detail::sampled<T>(concentration.shape(), source, distributions::detail::LogGammaSampler{}, concentration);
    const Tensor<T, D> x = elementwise(distributions::detail::WithinUnit<T>{}, softmax(logs, -1));
    return Forwarded{x, Tuple(concentration, x)};
  }
  template <class T, class D>
  void backward(const Tuple<Tensor<T, D>, Tensor<T, D>>& saved, const Tensor<T, D>& g, Gradient<T, D>& da) const {
    const auto& [concentration, x] = saved;
    const Tensor<T, D> total = sum(concentration, -1, true), both = sum(g * x, -1, true);
    da.give(Tensor<T, D>((g - both) * elementwise(distributions::detail::DirichletFactor{}, x, concentration, total)));
  }
};

}  // namespace operation

namespace distributions {

/// The beta distribution on [0, 1]: torch.distributions.Beta(concentration1, concentration0). Draws have gradients by
/// implicit reparametrization.
/// throws ShapeError unless the parameters broadcast; ArgumentError for a concentration that is not above 0
template <class H>
class Beta : public Distribution<Beta<H>, H> {
  using Base = Distribution<Beta<H>, H>;

 public:
  static constexpr const char* name = "Beta";
  static constexpr bool has_rsample = true;

  template <class A, class B>
    requires detail::MadeOf<H, A, B>
  Beta(const A& concentration1, const B& concentration0, const Validation& validation = {})
      : Base(validation), given_(name, concentration1, concentration0) {
    Base::set_shapes(given_.shape());
    if (!validation.validate) return;
    detail::require(name, "concentration1", given_[0], "more than 0, finite", detail::is_positive);
    detail::require(name, "concentration0", given_[1], "more than 0, finite", detail::is_positive);
  }

  [[nodiscard]] const H& concentration1() const { return given_[0]; }
  [[nodiscard]] const H& concentration0() const { return given_[1]; }
  [[nodiscard]] auto device() const { return given_[0].device(); }

  [[nodiscard]] auto mean() const {
    return fuse([](auto a, auto b) { return a / (a + b); }, concentration1(), concentration0());
  }
  [[nodiscard]] auto variance() const {
    return fuse([](auto a, auto b) { return a * b / (square(a + b) * (a + b + 1)); }, concentration1(),
                concentration0());
  }
  [[nodiscard]] auto entropy() const {
    return fuse(
        [](auto a, auto b) {
          return lbeta(a, b) - (a - 1) * digamma(a) - (b - 1) * digamma(b) + (a + b - 2) * digamma(a + b);
        },
        concentration1(), concentration0());
  }

 private:
  friend Base;

  template <class V>
  void require_support(const V& x) const {
    detail::require(name, "the value", x, "0 to 1", [](double value) { return value >= 0 && value <= 1; });
  }
  template <class V>
  [[nodiscard]] auto log_prob_of(const V& value) const {
    return fuse([](auto x, auto a, auto b) { return xlogy(a - 1, x) + xlog1py(b - 1, -x) - lbeta(a, b); }, value,
                concentration1(), concentration0());
  }
  template <class Source>
  [[nodiscard]] H drawn_of(const Shape& shape, const Source& source) const {
    const Shape all = Base::extended(shape);
    return apply(operation::Beta<Source>{source}, detail::expanded(concentration1(), all),
                 detail::expanded(concentration0(), all));
  }

  detail::Joint<H, 2> given_;
};
template <class A, class B>
  requires detail::Parameters<A, B>
Beta(const A&, const B&, Validation = {}) -> Beta<detail::handle_t<A, B>>;
#define LOCUS_REFUSED_DISTRIBUTION Beta
#include <locus/refuse/distributions/parameters.inc>

/// The Dirichlet distribution of vectors that sum to 1, along the last dimension of the concentrations:
/// torch.distributions.Dirichlet. Draws have its gradient, of the beta distribution of each element.
/// throws ShapeError for a concentration without dimensions; ArgumentError for one that is not above 0
template <class H>
class Dirichlet : public Distribution<Dirichlet<H>, H> {
  using Base = Distribution<Dirichlet<H>, H>;

 public:
  static constexpr const char* name = "Dirichlet";
  static constexpr bool has_rsample = true;

  template <class A>
    requires detail::MadeOf<H, A>
  explicit Dirichlet(const A& concentration, const Validation& validation = {})
      : Base(validation), given_(name, concentration) {
    detail::require_rank(name, "the concentration", given_[0].shape(), 1, "(..., categories)");
    Base::set_shapes(detail::without_last(given_[0].shape(), 1), detail::last(given_[0].shape(), 1));
    if (validation.validate)
      detail::require(name, "the concentration", given_[0], "more than 0, finite", detail::is_positive);
  }

  [[nodiscard]] const H& concentration() const { return given_[0]; }
  [[nodiscard]] auto device() const { return given_[0].device(); }

  [[nodiscard]] auto mean() const { return concentration() / sum(concentration(), -1, true); }
  [[nodiscard]] auto variance() const {
    const H total = sum(concentration(), -1, true);
    return fuse([](auto a, auto all) { return a * (all - a) / (square(all) * (all + 1)); }, concentration(), total);
  }
  [[nodiscard]] auto entropy() const {
    const H total = sum(concentration(), -1);
    const H terms = sum(fuse([](auto a) { return lgamma(a) - (a - 1) * digamma(a); }, concentration()), -1);
    const auto categories = static_cast<double>(concentration().size(-1));
    return fuse([=](auto t, auto all) { return t - lgamma(all) + (all - categories) * digamma(all); }, terms, total);
  }

 private:
  friend Base;

  template <class V> void require_support(const V& x) const { detail::require_simplex(name, "the value", x); }
  template <class V>
  [[nodiscard]] auto log_prob_of(const V& value) const {
    const H total = sum(concentration(), -1);
    const auto terms =
        sum(fuse([](auto x, auto a) { return xlogy(a - 1, x) - lgamma(a); }, value, concentration()), -1);
    return fuse([](auto t, auto all) { return t + lgamma(all); }, terms, total);
  }
  template <class Source>
  [[nodiscard]] H drawn_of(const Shape& shape, const Source& source) const {
    return apply(operation::Dirichlet<Source>{source}, detail::expanded(concentration(), Base::extended(shape)));
  }

  detail::Joint<H, 1> given_;
};
template <class A>
  requires detail::Parameters<A>
Dirichlet(const A&, Validation = {}) -> Dirichlet<detail::handle_t<A>>;
#define LOCUS_REFUSED_DISTRIBUTION Dirichlet
#include <locus/refuse/distributions/parameters.inc>

}  // namespace distributions
}}  // namespace locus::LOCUS_ABI
