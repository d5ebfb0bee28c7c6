#pragma once
// Gamma and Student's t distributions.

#include <locus/distributions/normal.hpp>

namespace locus { inline namespace LOCUS_ABI { namespace distributions {

namespace detail {
/// Gamma-distributed numbers of rate 1, with gradients to the concentrations.
template <class H, class Source>
[[nodiscard]] H gammas(const H& concentration, const Source& source) {
  return apply(operation::Gamma<Source>{source}, concentration);
}
}  // namespace detail

/// The gamma distribution of mean concentration / rate: torch.distributions.Gamma. Draws have gradients by implicit
/// reparametrization.
/// throws ShapeError unless the parameters broadcast; ArgumentError for parameters that are not above 0
template <class H>
class Gamma : public Distribution<Gamma<H>, H> {
  using Base = Distribution<Gamma<H>, H>;

 public:
  static constexpr const char* name = "Gamma";
  static constexpr bool has_rsample = true, has_cdf = true;

  template <class A, class R>
    requires detail::MadeOf<H, A, R>
  Gamma(const A& concentration, const R& rate, const Validation& validation = {})
      : Base(validation), given_(name, concentration, rate) {
    Base::set_shapes(given_.shape());
    if (!validation.validate) return;
    detail::require(name, "the concentration", given_[0], "more than 0, finite", detail::is_positive);
    detail::require(name, "the rate", given_[1], "more than 0, finite", detail::is_positive);
  }

  [[nodiscard]] const H& concentration() const { return given_[0]; }
  [[nodiscard]] const H& rate() const { return given_[1]; }
  [[nodiscard]] auto device() const { return given_[0].device(); }

  [[nodiscard]] auto mean() const { return concentration() / rate(); }
  [[nodiscard]] auto variance() const { return concentration() / square(rate()); }
  [[nodiscard]] auto entropy() const {
    return fuse([](auto a, auto r) { return a - log(r) + lgamma(a) + (1 - a) * digamma(a); }, concentration(), rate());
  }

 private:
  friend Base;

  template <class V>
  void require_support(const V& x) const {
    detail::require(name, "the value", x, "0 or more", [](double value) { return value >= 0; });
  }
  template <class V>
  [[nodiscard]] auto log_prob_of(const V& value) const {
    return fuse([](auto x, auto a, auto r) { return a * log(r) + xlogy(a - 1, x) - r * x - lgamma(a); }, value,
                concentration(), rate());
  }
  template <class V>
  [[nodiscard]] auto cdf_of(const V& value) const {
    return fuse([](auto x, auto a, auto r) { return gammainc(a, r * x); }, value, concentration(), rate());
  }
  template <class Source>
  [[nodiscard]] H drawn_of(const Shape& shape, const Source& source) const {
    return detail::gammas(detail::expanded(concentration(), Base::extended(shape)), source) / rate();
  }

  detail::Joint<H, 2> given_;
};
template <class A, class R>
  requires detail::Parameters<A, R>
Gamma(const A&, const R&, Validation = {}) -> Gamma<detail::handle_t<A, R>>;
#define LOCUS_REFUSED_DISTRIBUTION Gamma
#include <locus/refuse/distributions/parameters.inc>

/// Student's t distribution with df degrees of freedom: torch.distributions.StudentT.
/// throws ShapeError unless the parameters broadcast; ArgumentError for df or a scale that is not above 0
template <class H>
class StudentT : public Distribution<StudentT<H>, H> {
  using Base = Distribution<StudentT<H>, H>;

 public:
  static constexpr const char* name = "StudentT";
  static constexpr bool has_rsample = true;

  template <class F, class L, class S>
    requires detail::MadeOf<H, F, L, S>
  StudentT(const F& df, const L& loc, const S& scale, const Validation& validation = {})
      : Base(validation), given_(name, df, loc, scale) {
    Base::set_shapes(given_.shape());
    if (!validation.validate) return;
    detail::require(name, "df", given_[0], "more than 0, finite", detail::is_positive);
    detail::require_location_and_scale(name, given_);
  }

  [[nodiscard]] const H& df() const { return given_[0]; }
  [[nodiscard]] const H& loc() const { return given_[1]; }
  [[nodiscard]] const H& scale() const { return given_[2]; }
  [[nodiscard]] auto device() const { return given_[0].device(); }

  /// NaN for df <= 1
  [[nodiscard]] auto mean() const {
    return fuse([](auto n, auto m) { return where(n > 1, m, __builtin_nan("")); }, df(), loc());
  }
  /// Infinite for df <= 2, NaN for df <= 1
  [[nodiscard]] auto variance() const {
    return fuse(
        [](auto n, auto s) {
          return where(n > 2, square(s) * n / (n - 2), where(n > 1, s + __builtin_inf(), __builtin_nan("")));
        },
        df(), scale());
  }
  [[nodiscard]] auto entropy() const {
    return fuse(
        [](auto n, auto s) {
          return log(s) + (n + 1) * 0.5 * (digamma((n + 1) * 0.5) - digamma(n * 0.5)) + log(n) * 0.5 +
                 lbeta(n * 0.5, 0.5);
        },
        df(), scale());
  }

 private:
  friend Base;

  template <class V>
  void require_support(const V& x) const {
    detail::require(name, "the value", x, "a number", [](double value) { return value == value; });
  }
  template <class V>
  [[nodiscard]] auto log_prob_of(const V& value) const {
    return fuse(
        [](auto x, auto n, auto m, auto s) {
          return -lbeta(n * 0.5, 0.5) - log(n) * 0.5 - log(s) - (n + 1) * 0.5 * log1p(square((x - m) / s) / n);
        },
        value, df(), loc(), scale());
  }
  template <class Source>
  [[nodiscard]] H drawn_of(const Shape& shape, const Source& source) const {
    const auto z = detail::standard_normals<H>(Base::extended(shape), device(), source);
    const H half = detail::gammas(H(detail::expanded(df(), Base::extended(shape)) * 0.5), source);
    return fuse([](auto x, auto g, auto n, auto m, auto s) { return m + s * x * sqrt(n * 0.5 / g); }, z, half, df(),
                loc(), scale());
  }

  detail::Joint<H, 3> given_;
};
template <class F, class L, class S>
  requires detail::Parameters<F, L, S>
StudentT(const F&, const L&, const S&, Validation = {}) -> StudentT<detail::handle_t<F, L, S>>;
#define LOCUS_REFUSED_DISTRIBUTION StudentT
#include <locus/refuse/distributions/parameters.inc>

}}}  // namespace locus::LOCUS_ABI::distributions
