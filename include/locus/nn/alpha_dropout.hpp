#pragma once
// Layers of ops/alpha_dropout.hpp, which are random in training. To move a network that holds such a layer, name it
// like a layer of your own. Not part of locus/locus.hpp.

#include <locus/nn/activation.hpp>
#include <locus/ops/alpha_dropout.hpp>

namespace locus { inline namespace LOCUS_ABI { namespace nn {

namespace detail {
/// Base of a layer that drops with a probability.
template <class Derived>
struct DropoutLayer : Stateless<Derived> {
  double p = 0.5;
  /// throws ArgumentError unless 0 <= p <= 1
  explicit DropoutLayer(double probability = 0.5) : p(probability) { (void)functor::Dropout(p); }
  /// Options of the layer, for to_string.
  [[nodiscard]] std::string extra_repr() const { return join("p=", p); }
};
}  // namespace detail

/// Drops whole channels of lines. See locus::dropout1d.
struct Dropout1d final : detail::DropoutLayer<Dropout1d> {
  using DropoutLayer::DropoutLayer;
  [[nodiscard]] auto forward(const auto& x) const { return dropout1d(x, p); }
};
/// Drops whole channels of volumes. See locus::dropout3d.
struct Dropout3d final : detail::DropoutLayer<Dropout3d> {
  using DropoutLayer::DropoutLayer;
  [[nodiscard]] auto forward(const auto& x) const { return dropout3d(x, p); }
};
/// See locus::alpha_dropout.
struct AlphaDropout final : detail::DropoutLayer<AlphaDropout> {
  using DropoutLayer::DropoutLayer;
  [[nodiscard]] auto forward(const auto& x) const { return alpha_dropout(x, p); }
};
/// See locus::feature_alpha_dropout.
struct FeatureAlphaDropout final : detail::DropoutLayer<FeatureAlphaDropout> {
  using DropoutLayer::DropoutLayer;
  [[nodiscard]] auto forward(const auto& x) const { return feature_alpha_dropout(x, p); }
};
/// See locus::rrelu.
struct RReLU final : Stateless<RReLU> {
  double lower, upper;
  /// throws ArgumentError unless lower <= upper
  explicit RReLU(double least = 1.0 / 8, double most = 1.0 / 3) : lower(least), upper(most) {
    if (!(lower <= upper))
      fail<ArgumentError>({"RReLU: slopes from ", lower, " to ", upper, "; expected lower <= upper"});
  }
  [[nodiscard]] auto forward(const auto& x) const { return rrelu(x, lower, upper); }
  /// Options of the layer, for to_string.
  [[nodiscard]] std::string extra_repr() const { return join("lower=", lower, ", upper=", upper); }
};

}}}  // namespace locus::LOCUS_ABI::nn
