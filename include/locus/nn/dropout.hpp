#pragma once
// Layers that drop elements or channels of their input in training.

#include <locus/nn/activation.hpp>
#include <locus/ops/dropout.hpp>

namespace locus { inline namespace LOCUS_ABI { namespace nn {

/// Drops elements with probability p in training: of traced input that is not frozen. Otherwise the input passes
/// unchanged, without a launch. See locus::dropout.
///
///     nn::Sequential model{nn::Linear<float, D>{784, 64}, nn::ReLU{}, nn::Dropout{0.1}, nn::Linear<float, D>{64, 10}};
struct Dropout final : Stateless<Dropout> {
  double p = 0.5;
  /// throws ArgumentError unless 0 <= p <= 1
  explicit Dropout(double probability = 0.5) : p(probability) { (void)functor::Dropout(p); }
  [[nodiscard]] auto forward(const auto& x) const { return dropout(x, p); }
  /// Options of the layer, for to_string.
  [[nodiscard]] std::string extra_repr() const { return join("p=", p); }
};

/// Drops whole channels of (batch, channels, ...). See locus::dropout2d.
struct Dropout2d final : Stateless<Dropout2d> {
  double p = 0.5;
  /// throws ArgumentError unless 0 <= p <= 1
  explicit Dropout2d(double probability = 0.5) : p(probability) { (void)functor::Dropout(p); }
  [[nodiscard]] auto forward(const auto& x) const { return dropout2d(x, p); }
  /// Options of the layer, for to_string.
  [[nodiscard]] std::string extra_repr() const { return join("p=", p); }
};

}}}  // namespace locus::LOCUS_ABI::nn
