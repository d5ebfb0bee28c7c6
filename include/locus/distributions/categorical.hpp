#pragma once
// The categorical distribution.

#include <locus/distributions/distribution.hpp>
#include <locus/ops/index.hpp>
#include <locus/ops/multinomial.hpp>
#include <locus/ops/softmax.hpp>

namespace locus { inline namespace LOCUS_ABI { namespace distributions {

namespace detail {
/// The mistake in indices of categories of a distribution with handles H.
template <class H, class V>
struct CategoryMistake
    : locus::detail::FirstMistake<locus::detail::PlaceMistake<H, V, error::distribution_is_on, error::value_is_on>,
                                  locus::detail::IndexTypeMistake<V, error::value_holds>> {};
}  // namespace detail

/// Categories 0, 1, ... along the last dimension of the parameter: torch.distributions.Categorical. Values are int64.
/// Probs are weights of any sum above 0, and Logits logarithms of weights; both are normalized.
/// throws ShapeError for a parameter without dimensions or categories; ArgumentError, if the host can read it, for a
///        weight that is negative or not finite, a logit that is NaN or infinite, and a row without a weight above 0
///
///     const distributions::Categorical policy(distributions::Logits{network(trace(state))});
///     const auto action = policy.sample();
///     (-mean(policy.log_prob(action) * reward)).backward();   // REINFORCE
template <class H>
class Categorical : public Distribution<Categorical<H>, H> {
  using Base = Distribution<Categorical<H>, H>;

 public:
  static constexpr const char* name = "Categorical";
  template <class V>
  static constexpr bool takes =
      locus::detail::IndexOperand<V> && std::is_same_v<device_of<H>, typename locus::detail::bare_t<V>::device_type>;
  template <class V>
  using mistake_of = detail::CategoryMistake<H, V>;

  template <class X>
    requires detail::MadeOf<H, X>
  explicit Categorical(const Probs<X>& probs, const Validation& validation = {})
      : Base(validation), logits_(of_probabilities(probs.x, validation)) {
    set_shapes();
  }
  template <class X>
    requires detail::MadeOf<H, X>
  explicit Categorical(const Logits<X>& logits, const Validation& validation = {})
      : Base(validation), logits_(of_logits(logits.x, validation)) {
    set_shapes();
  }

  /// The logarithms of the probabilities. shape: (..., categories)
  [[nodiscard]] const H& logits() const { return logits_; }
  [[nodiscard]] auto probs() const { return exp(logits_); }
  [[nodiscard]] auto device() const { return logits_.device(); }
  [[nodiscard]] std::int64_t categories() const { return logits_.size(-1); }

  [[nodiscard]] auto entropy() const {
    return sum(fuse([](auto l) { return -exp(l) * clamp(l, -1e30, 1); }, logits_), -1);
  }

 private:
  friend Base;

  void set_shapes() { Base::set_shapes(detail::without_last(logits_.shape(), 1)); }
  template <class X>
  [[nodiscard]] static H of_probabilities(const X& x, const Validation& validation) {
    const H probability = detail::as_handle<H>(x, detail::common_device<H>(x));
    detail::require_rank(name, "the probabilities", probability.shape(), 1, "(..., categories)");
    require_categories(probability.shape());
    const std::int64_t count = probability.size(-1);
    if (validation.validate)
      locus::detail::require_weights(
          name, probability.value().contiguous().reshape({probability.elements() / count, count}), 1);
    return fuse([](auto p, auto all) { return where(p == 0, -__builtin_inf(), log(where(p == 0, 1, p)) - log(all)); },
                probability, sum(probability, -1, true));
  }
  template <class X>
  [[nodiscard]] static H of_logits(const X& x, const Validation& validation) {
    const H logits = detail::as_handle<H>(x, detail::common_device<H>(x));
    detail::require_rank(name, "the logits", logits.shape(), 1, "(..., categories)");
    require_categories(logits.shape());
    if (validation.validate) require_logits(logits);
    return log_softmax(logits, -1);
  }
  static void require_categories(const Shape& shape) {
    if (shape[-1] == 0)
      fail<ShapeError>({name, ": a parameter of shape ", shape, "; expected (..., categories), of one or more"});
  }
  static void require_logits(const H& logits) {
    detail::require(name, "the logit", logits, "a number, less than infinity",
                    [](double x) { return x < __builtin_inf(); });
    std::int64_t possible = 0;  // categories of a row
    locus::detail::check_elements(logits.value(), [&](value_of<H> element, std::int64_t position) {
      possible += static_cast<double>(load_as_register(element)) > -__builtin_inf();
      if ((position + 1) % logits.size(-1) != 0) return;
      if (possible == 0)
        fail<ArgumentError>({name, ": row ", position / logits.size(-1), " of the logits, of shape ", logits.shape(),
                             ", is -infinity; expected a category that is possible"});
      possible = 0;
    });
  }

  template <class V>
  void require_support(const V& x) const {
    const std::int64_t count = categories();
    locus::detail::check_elements(x.value(), [&](std::int64_t category, std::int64_t position) {
      if (category < 0 || category >= count)
        fail<ArgumentError>({name, ": the value is ", category, " at element ", position, " of shape ", x.shape(),
                             "; expected a category, 0 to ", count - 1});
    });
  }
  template <class V>
  [[nodiscard]] auto log_prob_of(const V& value) const {
    const Shape shape = broadcast(value.shape(), Base::batch_shape(), name);
    const auto index = value.value().expand(shape).unsqueeze(-1);
    return gather(detail::expanded(logits_, detail::joined(shape, Shape{categories()})), -1, index).squeeze(-1);
  }
  template <class Source>
  [[nodiscard]] auto drawn_of(const Shape& shape, const Source& source) const {
    using T = typename Base::value_type;
    const Tensor<T, typename Base::device_type> weights = exp(logits_.value());
    const auto drawn = locus::detail::multinomial(
        Tensor<T, typename Base::device_type>(weights.reshape({-1, categories()})), elements(shape), true, source);
    return drawn.transpose().contiguous().reshape(detail::joined(shape, Base::batch_shape()));
  }

  H logits_;
};
template <class X>
  requires detail::Parameters<X>
Categorical(const Probs<X>&, Validation = {}) -> Categorical<detail::handle_t<X>>;
template <class X>
  requires detail::Parameters<X>
Categorical(const Logits<X>&, Validation = {}) -> Categorical<detail::handle_t<X>>;
#define LOCUS_REFUSED_DISTRIBUTION Categorical
#include <locus/refuse/distributions/probabilities.inc>

}}}  // namespace locus::LOCUS_ABI::distributions
