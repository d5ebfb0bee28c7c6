#pragma once
// The uniform distribution.

#include <locus/distributions/distribution.hpp>

namespace locus { inline namespace LOCUS_ABI { namespace distributions {

/// The uniform distribution on [low, high): torch.distributions.Uniform.
/// throws ShapeError unless the parameters broadcast; ArgumentError unless low < high
template <class H>
class Uniform : public Distribution<Uniform<H>, H> {
  using Base = Distribution<Uniform<H>, H>;

 public:
  static constexpr const char* name = "Uniform";
  static constexpr bool has_rsample = true, has_cdf = true, has_icdf = true;

  template <class L, class U>
    requires detail::MadeOf<H, L, U>
  Uniform(const L& low, const U& high, const Validation& validation = {}) : Base(validation), given_(name, low, high) {
    Base::set_shapes(given_.shape());
    if (!validation.validate) return;
    detail::require_pair(name, "low", given_[0].value(), "high", given_[1].value(), "low < high",
                         [](double a, double b) { return a < b; });
  }

  [[nodiscard]] const H& low() const { return given_[0]; }
  [[nodiscard]] const H& high() const { return given_[1]; }
  [[nodiscard]] auto device() const { return given_[0].device(); }

  [[nodiscard]] auto mean() const { return (low() + high()) * 0.5; }
  [[nodiscard]] auto variance() const { return square(high() - low()) * (1.0 / 12); }
  [[nodiscard]] auto entropy() const { return log(high() - low()); }

 private:
  friend Base;

  template <class V>
  void require_support(const V& x) const {
    detail::require_pair(name, "the value", x.value(), "low", low().value(), "low or more",
                         [](double value, double a) { return value >= a; });
    detail::require_pair(name, "the value", x.value(), "high", high().value(), "no more than high",
                         [](double value, double b) { return value <= b; });
  }
  template <class V>
  [[nodiscard]] auto log_prob_of(const V& value) const {
    return fuse([](auto x, auto a, auto b) { return where(x >= a && x < b, -log(b - a), -__builtin_inf()); }, value,
                low(), high());
  }
  template <class V>
  [[nodiscard]] auto cdf_of(const V& value) const {
    return fuse([](auto x, auto a, auto b) { return clamp((x - a) / (b - a), 0, 1); }, value, low(), high());
  }
  template <class V>
  [[nodiscard]] auto icdf_of(const V& probability) const {
    return fuse([](auto p, auto a, auto b) { return a + p * (b - a); }, probability, low(), high());
  }
  template <class Source>
  [[nodiscard]] H drawn_of(const Shape& shape, const Source& source) const {
    using T = typename Base::value_type;
    const auto u =
        locus::detail::randomly<T>(Base::extended(shape), device(), source, locus::detail::UniformElement<T>{});
    return fuse([](auto x, auto a, auto b) { return a + x * (b - a); }, u, low(), high());
  }

  detail::Joint<H, 2> given_;
};
template <class L, class U>
  requires detail::Parameters<L, U>
Uniform(const L&, const U&, Validation = {}) -> Uniform<detail::handle_t<L, U>>;
#define LOCUS_REFUSED_DISTRIBUTION Uniform
#include <locus/refuse/distributions/parameters.inc>

}}}  // namespace locus::LOCUS_ABI::distributions
