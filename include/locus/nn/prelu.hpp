#pragma once
// A leaky relu that learns its slopes.

#include <locus/nn/module.hpp>
#include <locus/ops/prelu.hpp>
#include <locus/tensor/factory.hpp>

namespace locus { inline namespace LOCUS_ABI { namespace nn {

/// x where x > 0, x times a slope elsewhere: one slope for all, or one for each channel, dimension 1. See locus::prelu.
/// Parameters: weight (num_parameters), initially `init`
///
///     nn::Sequential model{nn::Conv2d<float, D>{3, 16, 3}, nn::PReLU<float, D>{16}, ...};
template <class T, class D>
class PReLU final : public Layer<PReLU<T, D>, T, D> {
 public:
  using input_type = T;
  Parameter<T, D> weight;

  /// throws ArgumentError for fewer than one slope, and for an `init` that is not finite
  explicit PReLU(std::int64_t num_parameters = 1, double init = 0.25, D device = {}) {
    if (num_parameters < 1) fail<ArgumentError>({"PReLU: ", num_parameters, " slopes; expected at least 1"});
    const auto first = locus::detail::finite_as<compute_t<T>>("PReLU", "init", init);
    weight = Parameter<T, D>(full<T>({num_parameters}, convert<T>(first), device));
  }

  [[nodiscard]] auto forward(const auto& x) const { return prelu(x, weight); }
  void members(const auto& visit) const { visit("weight", weight); }
  /// Options of the layer, for to_string.
  [[nodiscard]] std::string extra_repr() const { return join(weight.size(0)); }
  /// A layer of the same configuration for U on E.
  template <class U, class E> [[nodiscard]] auto twin() const { return PReLU<U, E>(weight.shape()[0]); }
};

}}}  // namespace locus::LOCUS_ABI::nn
