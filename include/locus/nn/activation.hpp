#pragma once
// Activations and other layers without parameters. They work on any device and floating element type.

#include <locus/nn/module.hpp>

namespace locus { inline namespace LOCUS_ABI { namespace nn {

/// Base of a layer without parameters: a function with a name in a network.
template <class Derived>
struct Stateless {
  template <detail::Operand X, class... More>
  [[nodiscard]] auto operator()(const X& x, const More&... more) const {
    const detail::ObservedCall call({static_cast<const Derived*>(this), &typeid(Derived)}, x, more...);
    auto y = static_cast<const Derived&>(*this).forward(x.eval(), detail::operand(more)...);
    call.end(y);
    return y;
  }
#include <locus/refuse/nn/activation.inc>
};

struct ReLU final : Stateless<ReLU> {
  static constexpr Activation activation = Activation::relu;
  [[nodiscard]] auto forward(const auto& x) const { return relu(x); }
};
struct Tanh final : Stateless<Tanh> {
  static constexpr Activation activation = Activation::tanh;
  [[nodiscard]] auto forward(const auto& x) const { return tanh(x); }
};
struct Sigmoid final : Stateless<Sigmoid> {
  static constexpr Activation activation = Activation::sigmoid;
  [[nodiscard]] auto forward(const auto& x) const { return sigmoid(x); }
};
struct LeakyReLU final : Stateless<LeakyReLU> {
  double slope = 0.01;
  /// throws ArgumentError unless the slope is finite
  explicit LeakyReLU(double negative_slope = 0.01) : slope(negative_slope) {
    locus::detail::require_finite("LeakyReLU", "slope", slope);
  }
  [[nodiscard]] auto forward(const auto& x) const { return leaky_relu(x, slope); }
  /// Options of the layer, for to_string.
  [[nodiscard]] std::string extra_repr() const { return join("negative_slope=", slope); }
};
template <GeluForm form = GeluForm::fast>
struct GELU final : Stateless<GELU<form>> {
  [[nodiscard]] auto forward(const auto& x) const { return gelu<form>(x); }
};
struct SiLU final : Stateless<SiLU> {
  [[nodiscard]] auto forward(const auto& x) const { return silu(x); }
};
struct Softplus final : Stateless<Softplus> {
  [[nodiscard]] auto forward(const auto& x) const { return softplus(x); }
};
struct Hardswish final : Stateless<Hardswish> {
  [[nodiscard]] auto forward(const auto& x) const { return hardswish(x); }
};
struct Mish final : Stateless<Mish> {
  [[nodiscard]] auto forward(const auto& x) const { return mish(x); }
};
struct ELU final : Stateless<ELU> {
  double alpha = 1;
  /// throws ArgumentError unless alpha is finite
  explicit ELU(double negative_scale = 1) : alpha(negative_scale) {
    locus::detail::require_finite("ELU", "alpha", alpha);
  }
  [[nodiscard]] auto forward(const auto& x) const { return elu(x, alpha); }
  /// Options of the layer, for to_string.
  [[nodiscard]] std::string extra_repr() const { return join("alpha=", alpha); }
};

/// Passes its input on, without a launch.
struct Identity final : Stateless<Identity> {
  [[nodiscard]] auto forward(const auto& x) const { return x; }
};

/// Merges dimensions [first, last]; all but the batch dimension by default.
struct Flatten final : Stateless<Flatten> {
  int first = 1, last = -1;
  explicit Flatten(int first_dim = 1, int last_dim = -1) : first(first_dim), last(last_dim) {}
  [[nodiscard]] auto forward(const auto& x) const { return flatten(x, first, last); }
  /// Options of the layer, for to_string.
  [[nodiscard]] std::string extra_repr() const { return join(first, ", ", last); }
};
/// Divides dimension `dim` into several; one extent may be -1: nn::Unflatten{1, {64, 7, 7}}. See locus::unflatten.
struct Unflatten final : Stateless<Unflatten> {
  int dim;
  Shape sizes;
  explicit Unflatten(int divided, const Shape& extents) : dim(divided), sizes(extents) {}
  [[nodiscard]] auto forward(const auto& x) const { return unflatten(x, dim, sizes); }
  /// Options of the layer, for to_string.
  [[nodiscard]] std::string extra_repr() const { return join(dim, ", ", sizes); }
};

}}}  // namespace locus::LOCUS_ABI::nn

#include <locus/instances/nn/activation.inc>
