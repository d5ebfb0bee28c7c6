#pragma once
// Bernoulli and binomial distributions.

#include <locus/distributions/distribution.hpp>
#include <locus/ops/extreme.hpp>

namespace locus { inline namespace LOCUS_ABI { namespace distributions {

namespace detail {

/// Of logits, as terms of one sign with finite derivatives: a sigmoid(-a) + softplus(-a) for a = |l|, less than
/// infinity.
inline constexpr auto bernoulli_entropy = [](auto l) {
  const auto a = clamp(abs(l), 0, 1e30);
  return a * sigmoid(-a) + softplus(-a);
};

/// Probabilities as logits. throws ArgumentError for a probability outside of 0 to 1
template <class H, class X>
[[nodiscard]] H as_logits(const char* distribution, const Probs<X>& given, const Validation& validation) {
  const H probability = as_handle<H>(given.x, common_device<H>(given.x));
  if (validation.validate)
    require(distribution, "the probability", probability, "0 to 1", [](double x) { return x >= 0 && x <= 1; });
  return logit(probability);
}
template <class H, class X>
[[nodiscard]] H as_logits(const char* distribution, const Logits<X>& given, const Validation& validation) {
  const H logits = as_handle<H>(given.x, common_device<H>(given.x));
  if (validation.validate) require(distribution, "the logit", logits, "a number", is_number);
  return logits;
}

}  // namespace detail

/// 1 with a probability, else 0: torch.distributions.Bernoulli. Values are numbers of the parameter's type. log_prob is
/// linear between 0 and 1, for images as targets; their check is turned off by {.validate = false}.
/// throws ArgumentError for a probability outside of 0 to 1
///
///     const distributions::Bernoulli action(distributions::Logits{policy(trace(state))});
///     const auto loss = -mean(action.log_prob(action.sample()) * reward);
template <class H>
class Bernoulli : public Distribution<Bernoulli<H>, H> {
  using Base = Distribution<Bernoulli<H>, H>;

 public:
  static constexpr const char* name = "Bernoulli";

  template <class X>
    requires detail::MadeOf<H, X>
  explicit Bernoulli(const Probs<X>& probs, const Validation& validation = {})
      : Base(validation), logits_(detail::as_logits<H>(name, probs, validation)) {
    Base::set_shapes(logits_.shape());
  }
  template <class X>
    requires detail::MadeOf<H, X>
  explicit Bernoulli(const Logits<X>& logits, const Validation& validation = {})
      : Base(validation), logits_(detail::as_logits<H>(name, logits, validation)) {
    Base::set_shapes(logits_.shape());
  }

  [[nodiscard]] const H& logits() const { return logits_; }
  [[nodiscard]] auto probs() const { return sigmoid(logits_); }
  [[nodiscard]] auto device() const { return logits_.device(); }

  [[nodiscard]] auto mean() const { return probs(); }
  [[nodiscard]] auto variance() const {
    return fuse([](auto l) { return sigmoid(l) * sigmoid(-l); }, logits_);
  }
  [[nodiscard]] auto entropy() const { return fuse(detail::bernoulli_entropy, logits_); }

 private:
  friend Base;

  template <class V>
  void require_support(const V& x) const {
    detail::require(name, "the value", x, "0 or 1", [](double value) { return value == 0 || value == 1; });
  }
  template <class V>
  [[nodiscard]] auto log_prob_of(const V& value) const {
    return fuse(
        [](auto x, auto l) { return -where(x == 0, 0, x * softplus(-l)) - where(x == 1, 0, (1 - x) * softplus(l)); },
        value, logits_);
  }
  template <class Source>
  [[nodiscard]] auto drawn_of(const Shape& shape, const Source& source) const {
    using T = typename Base::value_type;
    using R = compute_t<T>;  // uniform numbers of 16 bits would be 0 too often
    const Tensor<R, typename Base::device_type> u =
        locus::detail::randomly<R>(Base::extended(shape), device(), source, locus::detail::UniformElement<R>{});
    return Tensor<T, typename Base::device_type>((u < sigmoid(logits_.value().template as<R>())).template as<T>());
  }

  H logits_;
};
template <class X>
  requires detail::Parameters<X>
Bernoulli(const Probs<X>&, Validation = {}) -> Bernoulli<detail::handle_t<X>>;
template <class X>
  requires detail::Parameters<X>
Bernoulli(const Logits<X>&, Validation = {}) -> Bernoulli<detail::handle_t<X>>;
#define LOCUS_REFUSED_DISTRIBUTION Bernoulli
#include <locus/refuse/distributions/probabilities.inc>

/// The number of successes of `total_count` trials, of a probability each: torch.distributions.Binomial. Values are
/// whole numbers of the parameter's type.
/// throws ShapeError unless the parameters broadcast; ArgumentError for a count that is negative or no whole number, or
///        a probability outside of 0 to 1
template <class H>
class Binomial : public Distribution<Binomial<H>, H> {
  using Base = Distribution<Binomial<H>, H>;

 public:
  static constexpr const char* name = "Binomial";

  template <class N, class X>
    requires(detail::MadeOf<H, N, X> && locus::detail::WithoutGradient<N>)
  Binomial(const N& total_count, const Probs<X>& probs, const Validation& validation = {})
      : Binomial(total_count, detail::as_logits<H>(name, probs, validation), validation) {}
  template <class N, class X>
    requires(detail::MadeOf<H, N, X> && locus::detail::WithoutGradient<N>)
  Binomial(const N& total_count, const Logits<X>& logits, const Validation& validation = {})
      : Binomial(total_count, detail::as_logits<H>(name, logits, validation), validation) {}

  [[nodiscard]] auto total_count() const { return given_[0].value(); }
  [[nodiscard]] const H& logits() const { return given_[1]; }
  [[nodiscard]] auto probs() const { return sigmoid(logits()); }
  [[nodiscard]] auto device() const { return logits().device(); }

  [[nodiscard]] auto mean() const { return total_count() * probs(); }
  [[nodiscard]] auto variance() const {
    return fuse([](auto n, auto l) { return n * sigmoid(l) * sigmoid(-l); }, total_count(), logits());
  }
  /// Over the values 0, 1, ... up to the largest count, which the host reads.
  /// cost: as log_prob of that many values; on Cuda the host waits once
  [[nodiscard]] auto entropy() const {
    using T = typename Base::value_type;
    const auto most =
        static_cast<std::int64_t>(static_cast<double>(load_as_register(locus::max(total_count()).item())));
    Shape column{most + 1};
    for (int i = 0; i < Base::batch_shape().rank(); ++i) column.push_back(1);
    const auto values = arange<T>(most + 1, device()).reshape(column);
    const auto logs = log_probability(minimum(values, total_count()).eval());
    return sum(fuse([](auto k, auto n, auto l) { return where(k <= n, -exp(l) * clamp(l, -1e30, 1), 0); }, values,
                    total_count(), logs),
               0);
  }

 private:
  friend Base;

  template <class N>
  Binomial(const N& total_count, const H& logits, const Validation& validation)
      : Base(validation), given_(name, total_count, logits) {
    Base::set_shapes(given_.shape());
    if (validation.validate)
      detail::require(name, "the number of trials", given_[0], "a whole number, 0 or more", detail::is_count);
  }

  template <class V>
  void require_support(const V& x) const {
    detail::require(name, "the value", x, "a whole number, 0 or more", detail::is_count);
    detail::require_pair(name, "the value", x.value(), "the number of trials", total_count(), "no more than that",
                         [](double value, double n) { return value <= n; });
  }
  /// log(n choose k) + k log p + (n - k) log(1 - p)
  template <class V>
  [[nodiscard]] auto log_probability(const V& value) const {
    return fuse(
        [](auto k, auto n, auto l) {
          return -log1p(n) - lbeta(n - k + 1, k + 1) - where(k == 0, 0, k * softplus(-l)) -
                 where(k == n, 0, (n - k) * softplus(l));
        },
        value, total_count(), logits());
  }
  template <class V> [[nodiscard]] auto log_prob_of(const V& value) const { return log_probability(value); }
  template <class Source>
  [[nodiscard]] auto drawn_of(const Shape& shape, const Source& source) const {
    using T = typename Base::value_type;
    const Tensor<T, typename Base::device_type> probability = sigmoid(logits().value());
    return locus::detail::sampled<T>(Base::extended(shape), source, locus::detail::BinomialSampler{}, total_count(),
                                     probability);
  }

  detail::Joint<H, 2> given_;
};
template <class N, class X>
  requires detail::Parameters<N, X>
Binomial(const N&, const Probs<X>&, Validation = {}) -> Binomial<detail::handle_t<N, X>>;
template <class N, class X>
  requires detail::Parameters<N, X>
Binomial(const N&, const Logits<X>&, Validation = {}) -> Binomial<detail::handle_t<N, X>>;
#define LOCUS_REFUSED_DISTRIBUTION Binomial
#include <locus/refuse/distributions/probabilities.inc>

}}}  // namespace locus::LOCUS_ABI::distributions
