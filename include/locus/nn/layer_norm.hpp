#pragma once
// Layers that normalize the last dimensions of their input.

#include <locus/nn/module.hpp>
#include <locus/ops/layer_norm.hpp>
#include <locus/tensor/factory.hpp>

#include <limits>

namespace locus { inline namespace LOCUS_ABI { namespace nn {

namespace detail {
/// throws ArgumentError unless there are extents, all positive, and eps is finite and not below 0
LOCUS_OUT_OF_LINE inline const Shape& require_normalizable(const char* layer, const Shape& shape, double eps) {
  bool positive = shape.rank() > 0;
  for (const auto extent : shape) positive = positive && extent > 0;
  if (!positive)
    fail<ArgumentError>({layer, ": normalized shape ", shape, "; expected one or more extents of at least 1"});
  locus::detail::require_not_negative(layer, "eps", eps);
  return shape;
}
}  // namespace detail

/// y = (x - mean) / sqrt(variance + eps) * weight + bias over the last dimensions, which `normalized_shape` names.
/// shape: as the input, (..., normalized_shape). Parameters: weight, initially 1, and bias, initially 0, both of
/// normalized_shape. cost: one launch
///
///     nn::Sequential<float, D> net{nn::Linear<float, D>{784, 64}, nn::LayerNorm<float, D>{64}, nn::GELU<>{}, ...};
template <class T, class D>
class LayerNorm final : public Layer<LayerNorm<T, D>, T, D> {
 public:
  using input_type = T;

  Parameter<T, D> weight;  ///< empty without `elementwise_affine`
  Parameter<T, D> bias;    ///< empty without it, or if the layer has none

  /// throws ArgumentError unless every extent is positive and eps finite and not below 0
  explicit LayerNorm(const Shape& normalized_shape, double eps = 1e-5, bool elementwise_affine = true,
                     bool with_bias = true, D device = {})
      : normalized_shape_(detail::require_normalizable("LayerNorm", normalized_shape, eps)), eps_(eps) {
    if (!elementwise_affine) return;
    weight = Parameter<T, D>(ones<T>(normalized_shape, device));
    if (with_bias) bias = Parameter<T, D>(zeros<T>(normalized_shape, device));
  }
  /// Over the last dimension.
  explicit LayerNorm(std::int64_t width, double eps = 1e-5, bool elementwise_affine = true, bool with_bias = true,
                     D device = {})
      : LayerNorm(Shape{width}, eps, elementwise_affine, with_bias, device) {}
#include <locus/refuse/nn/layer_norm_class.inc>

  template <TensorLike X>
  [[nodiscard]] auto forward(const X& x) const {
    return layer_norm(x, normalized_shape_, weight, bias, eps_);
  }

  void members(const auto& visit) const {
    visit("weight", weight);
    visit("bias", bias);
  }
  /// Options of the layer, for to_string.
  [[nodiscard]] std::string extra_repr() const {
    return join(normalized_shape_, ", eps=", eps_, detail::option_text("elementwise_affine", weight.defined(), true));
  }
  /// A layer of the same configuration for U on E, without memory.
  template <class U, class E>
  [[nodiscard]] auto twin() const {
    return LayerNorm<U, E>(normalized_shape_, eps_, false);
  }

 private:
  Shape normalized_shape_;
  double eps_;
};
#define LOCUS_REFUSED_LAYER LayerNorm
#include <locus/refuse/nn/no_types.inc>

/// y = x / sqrt(mean(x^2) + eps) * weight over the last dimensions, which `normalized_shape` names.
/// shape: as the input, (..., normalized_shape). Parameters: weight, initially 1. cost: one launch
template <class T, class D>
class RMSNorm final : public Layer<RMSNorm<T, D>, T, D> {
 public:
  using input_type = T;
  static constexpr double default_eps = std::numeric_limits<compute_t<T>>::epsilon();

  Parameter<T, D> weight;  ///< empty without `elementwise_affine`

  /// throws ArgumentError unless every extent is positive and eps finite and not below 0
  explicit RMSNorm(const Shape& normalized_shape, double eps = default_eps, bool elementwise_affine = true,
                   D device = {})
      : normalized_shape_(detail::require_normalizable("RMSNorm", normalized_shape, eps)), eps_(eps) {
    if (elementwise_affine) weight = Parameter<T, D>(ones<T>(normalized_shape, device));
  }
  /// Over the last dimension.
  explicit RMSNorm(std::int64_t width, double eps = default_eps, bool elementwise_affine = true, D device = {})
      : RMSNorm(Shape{width}, eps, elementwise_affine, device) {}

  template <TensorLike X>
  [[nodiscard]] auto forward(const X& x) const {
    return rms_norm(x, normalized_shape_, weight, eps_);
  }

  void members(const auto& visit) const { visit("weight", weight); }
  /// Options of the layer, for to_string.
  [[nodiscard]] std::string extra_repr() const {
    return join(normalized_shape_, ", eps=", eps_, detail::option_text("elementwise_affine", weight.defined(), true));
  }
  /// A layer of the same configuration for U on E, without memory.
  template <class U, class E> [[nodiscard]] auto twin() const { return RMSNorm<U, E>(normalized_shape_, eps_, false); }

 private:
  Shape normalized_shape_;
  double eps_;
};

}}}  // namespace locus::LOCUS_ABI::nn
