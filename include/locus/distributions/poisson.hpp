#pragma once
// The Poisson distribution.

#include <locus/distributions/distribution.hpp>

namespace locus { inline namespace LOCUS_ABI { namespace distributions {

/// The Poisson distribution: torch.distributions.Poisson. Values are whole numbers of the parameter's type.
/// throws ArgumentError for a rate that is negative or not finite
template <class H>
class Poisson : public Distribution<Poisson<H>, H> {
  using Base = Distribution<Poisson<H>, H>;

 public:
  static constexpr const char* name = "Poisson";

  template <class R>
    requires detail::MadeOf<H, R>
  explicit Poisson(const R& rate, const Validation& validation = {}) : Base(validation), given_(name, rate) {
    Base::set_shapes(given_.shape());
    if (!validation.validate) return;
    detail::require(name, "the rate", given_[0], "0 or more, finite",
                    [](double x) { return x >= 0 && x < __builtin_inf(); });
  }

  [[nodiscard]] const H& rate() const { return given_[0]; }
  [[nodiscard]] auto device() const { return given_[0].device(); }

  [[nodiscard]] const H& mean() const { return rate(); }
  [[nodiscard]] const H& variance() const { return rate(); }

 private:
  friend Base;

  template <class V>
  void require_support(const V& x) const {
    detail::require(name, "the value", x, "a whole number, 0 or more", detail::is_count);
  }
  template <class V>
  [[nodiscard]] auto log_prob_of(const V& value) const {
    return fuse([](auto k, auto r) { return xlogy(k, r) - r - lgamma(k + 1); }, value, rate());
  }
  template <class Source>
  [[nodiscard]] auto drawn_of(const Shape& shape, const Source& source) const {
    return locus::detail::sampled<typename Base::value_type>(Base::extended(shape), source,
                                                             locus::detail::PoissonSampler{}, rate().value());
  }

  detail::Joint<H, 1> given_;
};
template <class R>
  requires detail::Parameters<R>
Poisson(const R&, Validation = {}) -> Poisson<detail::handle_t<R>>;
#define LOCUS_REFUSED_DISTRIBUTION Poisson
#include <locus/refuse/distributions/parameters.inc>

}}}  // namespace locus::LOCUS_ABI::distributions
