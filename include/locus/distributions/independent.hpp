#pragma once
// A distribution whose last batch dimensions are one event, and mixtures of one family.

#include <locus/distributions/categorical.hpp>

namespace locus { inline namespace LOCUS_ABI { namespace distributions {

/// A distribution whose last `dims` batch dimensions are part of the event: log_prob is summed over them.
/// torch.distributions.Independent.
/// throws ArgumentError for more dimensions than the batch has
///
///     const distributions::Independent pixels(distributions::Bernoulli(distributions::Logits{decoded}), 3);
template <class P>
class Independent : public Distribution<Independent<P>, typename P::handle_type> {
  using Base = Distribution<Independent<P>, typename P::handle_type>;

 public:
  static constexpr const char* name = "Independent";
  static constexpr bool has_rsample = P::has_rsample;
  template <class V>
  static constexpr bool takes = P::template takes<V>;
  template <class V>
  using mistake_of = typename P::template mistake_of<V>;

  Independent(P base, int dims) : Base({base.validates()}), base_(std::move(base)), dims_(dims) {
    const Shape& batch = base_.batch_shape();
    if (dims < 0 || dims > batch.rank())
      fail<ArgumentError>(
          {name, ": ", dims, " dimensions of a batch of shape ", batch, "; expected 0 to ", batch.rank()});
    Base::set_shapes(detail::without_last(batch, dims), detail::joined(detail::last(batch, dims), base_.event_shape()));
  }

  [[nodiscard]] const P& base() const { return base_; }
  [[nodiscard]] int dims() const { return dims_; }
  [[nodiscard]] auto device() const { return base_.device(); }

  [[nodiscard]] auto mean() const { return base_.mean(); }
  [[nodiscard]] auto variance() const { return base_.variance(); }
  [[nodiscard]] auto entropy() const { return detail::sum_of_last(base_.entropy(), dims_); }

 private:
  friend Base;
  template <class V>
  void require_support(const V&) const {}  // by the base
  template <class V>
  [[nodiscard]] auto log_prob_of(const V& value) const {
    return detail::sum_of_last(base_.log_prob(value), dims_);
  }
  template <class Source>
  [[nodiscard]] auto drawn_of(const Shape& shape, const Source& source) const {
    return Base::drawn_from(base_, shape, source);
  }

  P base_;
  int dims_;
};

/// A mixture: a categorical distribution chooses one of the distributions along the last batch dimension of
/// `component`. torch.distributions.MixtureSameFamily. Draws have no gradient.
/// throws ShapeError unless the component's last batch dimension are the categories, and the categorical distribution's
///        batch broadcasts to the dimensions before
///
///     const distributions::MixtureSameFamily mixture(distributions::Categorical(distributions::Logits{weights}),
///                                                    distributions::Normal(means, deviations));
template <class M, class P>
class MixtureSameFamily;
template <class H, class P>
  requires std::is_same_v<device_of<H>, device_of<typename P::handle_type>>
class MixtureSameFamily<Categorical<H>, P>
    : public Distribution<MixtureSameFamily<Categorical<H>, P>, typename P::handle_type> {
  using Base = Distribution<MixtureSameFamily<Categorical<H>, P>, typename P::handle_type>;

 public:
  static constexpr const char* name = "MixtureSameFamily";
  static constexpr bool has_cdf = P::has_cdf;
  template <class V>
  static constexpr bool takes = P::template takes<V>;
  template <class V>
  using mistake_of = typename P::template mistake_of<V>;

  MixtureSameFamily(Categorical<H> mixture, P component)
      : Base({component.validates()}), mixture_(std::move(mixture)), component_(std::move(component)) {
    const Shape& batch = component_.batch_shape();
    if (batch.rank() == 0 || batch[-1] != mixture_.categories())
      fail<ShapeError>({name, ": components with a batch of shape ", batch, " for ", mixture_.categories(),
                        " categories; expected (..., ", mixture_.categories(), ")"});
    const Shape own = detail::without_last(batch, 1);
    if (broadcast(own, mixture_.batch_shape(), name) != own)
      fail<ShapeError>({name, ": categories with a batch of shape ", mixture_.batch_shape(),
                        " for components with a batch of shape ", batch, "; expected to broadcast to ", own});
    if (mixture_.batch_shape() != own)  // each element of the batch draws its own category
      mixture_ = Categorical<H>(Logits<H>{detail::expanded(mixture_.logits(), batch)}, {.validate = false});
    Base::set_shapes(own, component_.event_shape());
  }

  [[nodiscard]] const Categorical<H>& mixture() const { return mixture_; }
  [[nodiscard]] const P& component() const { return component_; }
  [[nodiscard]] auto device() const { return component_.device(); }

  [[nodiscard]] auto mean() const { return sum(weights() * component_.mean(), axis()); }
  /// The mean of the variances, and the variance of the means.
  [[nodiscard]] auto variance() const {
    const auto probability = weights();
    const auto means = (component_.mean() + 0).eval(), middle = sum(probability * means, axis(), true);
    return sum(probability * (component_.variance() + square(means - middle)), axis());
  }

 private:
  friend Base;

  /// Where the components lie among the dimensions of a draw.
  [[nodiscard]] int axis() const { return -1 - component_.event_shape().rank(); }
  [[nodiscard]] auto weights() const {
    auto probability = mixture_.probs().eval();
    for (int i = 0; i < component_.event_shape().rank(); ++i) probability = probability.unsqueeze(-1);
    return probability;
  }

  template <class V>
  void require_support(const V&) const {}  // by the component
  template <class V>
  [[nodiscard]] auto log_prob_of(const V& value) const {
    const auto each = component_.log_prob(value.unsqueeze(axis()));
    return logsumexp((each + mixture_.logits()).eval(), -1);
  }
  template <class V>
  [[nodiscard]] auto cdf_of(const V& value) const {
    return sum(component_.cdf(value.unsqueeze(-1)) * mixture_.probs(), -1);
  }
  template <class Source>
  [[nodiscard]] auto drawn_of(const Shape& shape, const Source& source) const {
    const Shape all = detail::joined(shape, Base::batch_shape());
    const auto chosen = Base::drawn_from(mixture_, shape, source);
    const auto candidates = Base::drawn_from(component_, shape, source).value();
    auto index = chosen.unsqueeze(-1);
    for (int i = 0; i < component_.event_shape().rank(); ++i) index = index.unsqueeze(-1);
    const Shape one = detail::joined(detail::joined(all, Shape{1}), component_.event_shape());
    return gather(candidates, axis(), index.expand(one)).squeeze(axis());
  }

  Categorical<H> mixture_;
  P component_;
};
template <class H, class P>
MixtureSameFamily(Categorical<H>, P) -> MixtureSameFamily<Categorical<H>, P>;

}}}  // namespace locus::LOCUS_ABI::distributions
