#pragma once
// The base of all distributions: shapes, samples, checks of values, and the refusal of calls.

#include <locus/distributions/parameters.hpp>

namespace locus { inline namespace LOCUS_ABI { namespace distributions {

namespace detail {

/// A value of log_prob, cdf or icdf of a distribution with handles H.
template <class H, class V>
concept ValueOf = (Scalar<V> || TensorLike<V>)&&Combinable<H, V>;

/// The mistake in a value of a distribution with handles H.
template <class H, class V>
struct ValueMistake
    : locus::detail::FirstMistake<locus::detail::PlaceMistake<H, V, error::distribution_is_on, error::value_is_on>,
                                  locus::detail::Mistake<H, V>> {};
template <class Self, class V>
struct MistakeInValue : Self::template mistake_of<V> {};

}  // namespace detail

/// What all distributions have. A draw has the shape sample_shape + batch_shape() + event_shape(): the parameters
/// broadcast to batch_shape() + event_shape().
template <class Derived, class H>
class Distribution {
 public:
  using handle_type = H;
  using value_type = value_of<H>;
  using device_type = device_of<H>;

  static constexpr bool has_rsample = false, has_cdf = false, has_icdf = false;
  /// Whether V is a value of log_prob, and the mistake in it otherwise.
  template <class V>
  static constexpr bool takes = detail::ValueOf<H, locus::detail::bare_t<V>>;
  template <class V>
  using mistake_of = detail::ValueMistake<H, V>;

  [[nodiscard]] const Shape& batch_shape() const { return batch_shape_; }
  [[nodiscard]] const Shape& event_shape() const { return event_shape_; }
  [[nodiscard]] bool validates() const { return validates_; }

  /// Draws a plain tensor, of the device's default generator or a given one.
  /// shape: () -> shape + batch_shape() + event_shape()     gradient: none
  [[nodiscard]] auto sample(const Shape& shape = {}) const { return drawn(shape, from_default()).value(); }
  [[nodiscard]] auto sample(const Shape& shape, Generator<device_type>& generator) const {
    return drawn(shape, locus::detail::draw_from(generator)).value();
  }
  /// The same draw with a gradient to the parameters: traced if they are.
  template <class Self = Derived>
    requires(Self::has_rsample)
  [[nodiscard]] auto rsample(const Shape& shape = {}) const {
    return drawn(shape, from_default());
  }
  template <class Self = Derived>
    requires(Self::has_rsample)
  [[nodiscard]] auto rsample(const Shape& shape, Generator<device_type>& generator) const {
    return drawn(shape, locus::detail::draw_from(generator));
  }

  /// The logarithm of the density, or of the probability, of a value.
  /// shape: value (..., event_shape()) that broadcasts with batch_shape() + event_shape() -> (..., batch_shape())
  /// gradient: to the value and to the parameters
  /// throws ShapeError; ArgumentError for a value outside of the support, if the host can read it and Validation is not
  ///        turned off
  template <class V, class Self = Derived>
    requires(Self::template takes<V>)
  [[nodiscard]] auto log_prob(const V& value) const {
    return self().log_prob_of(given(value));
  }
  /// The probability of a value up to this one.
  template <class V, class Self = Derived>
    requires(Self::has_cdf && Self::template takes<V>)
  [[nodiscard]] auto cdf(const V& value) const {
    return self().cdf_of(given(value));
  }
  /// The inverse of cdf.
  template <class V, class Self = Derived>
    requires(Self::has_icdf && Self::template takes<V>)
  [[nodiscard]] auto icdf(const V& probability) const {
    const auto p = as_value(probability);
    if (validates_)
      detail::require(Derived::name, "the probability", p, "0 to 1", [](double x) { return x >= 0 && x <= 1; });
    return self().icdf_of(p);
  }
  /// The square root of variance().
  [[nodiscard]] auto stddev() const { return sqrt(self().variance()); }

#include <locus/refuse/distributions/distribution_class.inc>

 protected:
  explicit Distribution(const Validation& validation) : validates_(validation.validate) {}
  void set_shapes(const Shape& batch_shape, const Shape& event_shape = {}) {
    batch_shape_ = batch_shape;
    event_shape_ = event_shape;
  }

  /// A draw of another distribution, of which this one is made.
  template <class P, class Source>
  [[nodiscard]] static auto drawn_from(const P& distribution, const Shape& shape, const Source& source) {
    return distribution.drawn(shape, source);
  }
  [[nodiscard]] Shape extended(const Shape& sample_shape) const {
    return detail::joined(detail::joined(sample_shape, batch_shape_), event_shape_);
  }

 private:
  template <class, class>
  friend class Distribution;

  [[nodiscard]] const Derived& self() const { return static_cast<const Derived&>(*this); }
  [[nodiscard]] static auto from_default() { return locus::detail::draw_from_default<device_type>; }
  template <class Source>
  [[nodiscard]] auto drawn(const Shape& shape, const Source& source) const {
    return self().drawn_of(shape, source);
  }
  template <class V>
  [[nodiscard]] auto as_value(const V& value) const {
    if constexpr (Scalar<V>) return full<value_type>(event_shape_, value, self().device());
    else return value.eval();
  }
  template <class V>
  [[nodiscard]] auto given(const V& value) const {
    const auto x = as_value(value);
    if (x.rank() < event_shape_.rank() || detail::last(x.shape(), event_shape_.rank()) != event_shape_)
      fail<ShapeError>({Derived::name, ": a value of shape ", x.shape(), " for events of shape ", event_shape_,
                        "; expected the events' dimensions to be its last ones"});
    if (validates_) self().require_support(x);
    return x;
  }

  Shape batch_shape_, event_shape_;
  bool validates_;
};

}}}  // namespace locus::LOCUS_ABI::distributions
