#pragma once
// Normal and log-normal distributions.

#include <locus/distributions/distribution.hpp>

namespace locus { inline namespace LOCUS_ABI { namespace distributions {

namespace detail {

/// Standard normal numbers.
template <class H, class Source>
[[nodiscard]] auto standard_normals(const Shape& shape, device_of<H> device, const Source& source) {
  using T = value_of<H>;
  return locus::detail::randomly<T>(shape, device, source, locus::detail::NormalElement<T>{});
}

template <class H, int n>
void require_location_and_scale(const char* distribution, const Joint<H, n>& given) {
  require(distribution, "loc", given[n - 2], "a number", is_number);
  require(distribution, "scale", given[n - 1], "more than 0, finite", is_positive);
}

inline constexpr double half_log_two_pi = 0.91893853320467274;

}  // namespace detail

/// The normal distribution: torch.distributions.Normal. H is the handle of its parameters, traced if one of them is.
/// throws ShapeError unless the parameters broadcast; ArgumentError for a scale that is not above 0, if the host can
/// read it
///
///     const distributions::Normal posterior(mean, exp(0.5f * log_variance));
///     const auto z = posterior.rsample();                       // gradients reach mean and log_variance
///     const auto divergence = kl_divergence(posterior, distributions::Normal(0, 1));
template <class H>
class Normal : public Distribution<Normal<H>, H> {
  using Base = Distribution<Normal<H>, H>;

 public:
  static constexpr const char* name = "Normal";
  static constexpr bool has_rsample = true, has_cdf = true, has_icdf = true;

  template <class L, class S>
    requires detail::MadeOf<H, L, S>
  Normal(const L& loc, const S& scale, const Validation& validation = {}) : Base(validation), given_(name, loc, scale) {
    Base::set_shapes(given_.shape());
    if (validation.validate) detail::require_location_and_scale(name, given_);
  }

  [[nodiscard]] const H& loc() const { return given_[0]; }
  [[nodiscard]] const H& scale() const { return given_[1]; }
  [[nodiscard]] auto device() const { return loc().device(); }

  [[nodiscard]] const H& mean() const { return loc(); }
  [[nodiscard]] auto variance() const { return square(scale()); }
  [[nodiscard]] auto entropy() const { return log(scale()) + (0.5 + detail::half_log_two_pi); }

 private:
  friend Base;
  template <class V>
  void require_support(const V& x) const {
    detail::require(name, "the value", x, "a number", detail::is_number);
  }
  template <class V>
  [[nodiscard]] auto log_prob_of(const V& value) const {
    return fuse([](auto x, auto m, auto s) { return square((x - m) / s) * -0.5 - log(s) - detail::half_log_two_pi; },
                value, loc(), scale());
  }
  template <class V>
  [[nodiscard]] auto cdf_of(const V& value) const {
    return fuse([](auto x, auto m, auto s) { return ndtr((x - m) / s); }, value, loc(), scale());
  }
  template <class V>
  [[nodiscard]] auto icdf_of(const V& probability) const {
    return fuse([](auto p, auto m, auto s) { return m + s * ndtri(p); }, probability, loc(), scale());
  }
  template <class Source>
  [[nodiscard]] H drawn_of(const Shape& shape, const Source& source) const {
    const auto z = detail::standard_normals<H>(Base::extended(shape), device(), source);
    return fuse([](auto n, auto m, auto s) { return m + s * n; }, z, loc(), scale());
  }

  detail::Joint<H, 2> given_;
};
template <class L, class S>
  requires detail::Parameters<L, S>
Normal(const L&, const S&, Validation = {}) -> Normal<detail::handle_t<L, S>>;
#define LOCUS_REFUSED_DISTRIBUTION Normal
#include <locus/refuse/distributions/parameters.inc>

/// The distribution of e^x for a normal x of this mean and standard deviation: torch.distributions.LogNormal.
template <class H>
class LogNormal : public Distribution<LogNormal<H>, H> {
  using Base = Distribution<LogNormal<H>, H>;

 public:
  static constexpr const char* name = "LogNormal";
  static constexpr bool has_rsample = true, has_cdf = true, has_icdf = true;

  template <class L, class S>
    requires detail::MadeOf<H, L, S>
  LogNormal(const L& loc, const S& scale, const Validation& validation = {})
      : Base(validation), given_(name, loc, scale) {
    Base::set_shapes(given_.shape());
    if (validation.validate) detail::require_location_and_scale(name, given_);
  }

  /// The mean and the standard deviation of the logarithm.
  [[nodiscard]] const H& loc() const { return given_[0]; }
  [[nodiscard]] const H& scale() const { return given_[1]; }
  [[nodiscard]] auto device() const { return loc().device(); }

  [[nodiscard]] auto mean() const {
    return fuse([](auto m, auto s) { return exp(m + square(s) * 0.5); }, loc(), scale());
  }
  [[nodiscard]] auto variance() const {
    return fuse([](auto m, auto s) { return expm1(square(s)) * exp(m * 2 + square(s)); }, loc(), scale());
  }
  [[nodiscard]] auto entropy() const {
    return fuse([](auto m, auto s) { return m + log(s) + (0.5 + detail::half_log_two_pi); }, loc(), scale());
  }

 private:
  friend Base;
  template <class V>
  void require_support(const V& x) const {
    detail::require(name, "the value", x, "more than 0", [](double value) { return value > 0; });
  }
  template <class V>
  [[nodiscard]] auto log_prob_of(const V& value) const {
    return fuse([](auto x, auto m,
                   auto s) { return square((log(x) - m) / s) * -0.5 - log(s) - log(x) - detail::half_log_two_pi; },
                value, loc(), scale());
  }
  template <class V>
  [[nodiscard]] auto cdf_of(const V& value) const {
    return fuse([](auto x, auto m, auto s) { return ndtr((log(x) - m) / s); }, value, loc(), scale());
  }
  template <class V>
  [[nodiscard]] auto icdf_of(const V& probability) const {
    return fuse([](auto p, auto m, auto s) { return exp(m + s * ndtri(p)); }, probability, loc(), scale());
  }
  template <class Source>
  [[nodiscard]] H drawn_of(const Shape& shape, const Source& source) const {
    const auto z = detail::standard_normals<H>(Base::extended(shape), device(), source);
    return fuse([](auto n, auto m, auto s) { return exp(m + s * n); }, z, loc(), scale());
  }

  detail::Joint<H, 2> given_;
};
template <class L, class S>
  requires detail::Parameters<L, S>
LogNormal(const L&, const S&, Validation = {}) -> LogNormal<detail::handle_t<L, S>>;
#define LOCUS_REFUSED_DISTRIBUTION LogNormal
#include <locus/refuse/distributions/parameters.inc>

}}}  // namespace locus::LOCUS_ABI::distributions
