#pragma once
// Exponential and Laplace distributions.

#include <locus/distributions/normal.hpp>

namespace locus { inline namespace LOCUS_ABI { namespace distributions {

namespace detail {
/// Exponentially distributed numbers of mean 1.
template <class H, class Source>
[[nodiscard]] auto standard_exponentials(const Shape& shape, device_of<H> device, const Source& source) {
  using T = value_of<H>;
  return locus::detail::randomly<T>(shape, device, source, locus::detail::ExponentialElement<T>(1));
}
}  // namespace detail

/// The exponential distribution of mean 1 / rate: torch.distributions.Exponential.
/// throws ArgumentError for a rate that is not above 0
template <class H>
class Exponential : public Distribution<Exponential<H>, H> {
  using Base = Distribution<Exponential<H>, H>;

 public:
  static constexpr const char* name = "Exponential";
  static constexpr bool has_rsample = true, has_cdf = true, has_icdf = true;

  template <class R>
    requires detail::MadeOf<H, R>
  explicit Exponential(const R& rate, const Validation& validation = {}) : Base(validation), given_(name, rate) {
    Base::set_shapes(given_.shape());
    if (!validation.validate) return;
    detail::require(name, "the rate", given_[0], "more than 0, finite", detail::is_positive);
  }

  [[nodiscard]] const H& rate() const { return given_[0]; }
  [[nodiscard]] auto device() const { return given_[0].device(); }

  [[nodiscard]] auto mean() const { return reciprocal(rate()); }
  [[nodiscard]] auto variance() const { return reciprocal(square(rate())); }
  [[nodiscard]] auto entropy() const { return 1 - log(rate()); }

 private:
  friend Base;

  template <class V>
  void require_support(const V& x) const {
    detail::require(name, "the value", x, "0 or more", [](double value) { return value >= 0; });
  }
  template <class V>
  [[nodiscard]] auto log_prob_of(const V& value) const {
    return fuse([](auto x, auto r) { return log(r) - r * x; }, value, rate());
  }
  template <class V>
  [[nodiscard]] auto cdf_of(const V& value) const {
    return fuse([](auto x, auto r) { return -expm1(-(r * x)); }, value, rate());
  }
  template <class V>
  [[nodiscard]] auto icdf_of(const V& probability) const {
    return fuse([](auto p, auto r) { return -log1p(-p) / r; }, probability, rate());
  }
  template <class Source>
  [[nodiscard]] H drawn_of(const Shape& shape, const Source& source) const {
    return detail::standard_exponentials<H>(Base::extended(shape), device(), source) / rate();
  }

  detail::Joint<H, 1> given_;
};
template <class R>
  requires detail::Parameters<R>
Exponential(const R&, Validation = {}) -> Exponential<detail::handle_t<R>>;
#define LOCUS_REFUSED_DISTRIBUTION Exponential
#include <locus/refuse/distributions/parameters.inc>

/// The Laplace distribution, e^(-|x - loc| / scale) / (2 scale): torch.distributions.Laplace.
/// throws ShapeError unless the parameters broadcast; ArgumentError for a scale that is not above 0
template <class H>
class Laplace : public Distribution<Laplace<H>, H> {
  using Base = Distribution<Laplace<H>, H>;

 public:
  static constexpr const char* name = "Laplace";
  static constexpr bool has_rsample = true, has_cdf = true, has_icdf = true;

  template <class L, class S>
    requires detail::MadeOf<H, L, S>
  Laplace(const L& loc, const S& scale, const Validation& validation = {})
      : Base(validation), given_(name, loc, scale) {
    Base::set_shapes(given_.shape());
    if (!validation.validate) return;
    detail::require_location_and_scale(name, given_);
  }

  [[nodiscard]] const H& loc() const { return given_[0]; }
  [[nodiscard]] const H& scale() const { return given_[1]; }
  [[nodiscard]] auto device() const { return given_[0].device(); }

  [[nodiscard]] const H& mean() const { return loc(); }
  [[nodiscard]] auto variance() const { return square(scale()) * 2; }
  [[nodiscard]] auto entropy() const { return log(scale() * 2) + 1; }

 private:
  friend Base;

  template <class V>
  void require_support(const V& x) const {
    detail::require(name, "the value", x, "a number", [](double value) { return value == value; });
  }
  template <class V>
  [[nodiscard]] auto log_prob_of(const V& value) const {
    return fuse([](auto x, auto m, auto s) { return -log(s * 2) - abs(x - m) / s; }, value, loc(), scale());
  }
  template <class V>
  [[nodiscard]] auto cdf_of(const V& value) const {
    return fuse([](auto x, auto m, auto s) { return 0.5 - sign(x - m) * expm1(-abs(x - m) / s) * 0.5; }, value, loc(),
                scale());
  }
  template <class V>
  [[nodiscard]] auto icdf_of(const V& probability) const {
    return fuse([](auto p, auto m, auto s) { return m - s * sign(p - 0.5) * log1p(abs(p - 0.5) * -2); }, probability,
                loc(), scale());
  }
  /// The difference of two exponentially distributed numbers.
  template <class Source>
  [[nodiscard]] H drawn_of(const Shape& shape, const Source& source) const {
    const auto above = detail::standard_exponentials<H>(Base::extended(shape), device(), source);
    const auto below = detail::standard_exponentials<H>(Base::extended(shape), device(), source);
    return fuse([](auto a, auto b, auto m, auto s) { return m + s * (a - b); }, above, below, loc(), scale());
  }

  detail::Joint<H, 2> given_;
};
template <class L, class S>
  requires detail::Parameters<L, S>
Laplace(const L&, const S&, Validation = {}) -> Laplace<detail::handle_t<L, S>>;
#define LOCUS_REFUSED_DISTRIBUTION Laplace
#include <locus/refuse/distributions/parameters.inc>

}}}  // namespace locus::LOCUS_ABI::distributions
