#pragma once
// The fully connected layer.

#include <locus/nn/init.hpp>
#include <locus/nn/module.hpp>
#include <locus/ops/linear.hpp>

namespace locus { inline namespace LOCUS_ABI { namespace nn {

/// y = x W^T + b. shape: (..., in) -> (..., out). Parameters: weight (out, in), bias (out), both initialized uniformly
/// in +-1/sqrt(in), as in PyTorch. cost: one launch; in a Sequential on Cpu it includes the activation after it
template <class T, class D>
class Linear final : public Layer<Linear<T, D>, T, D> {
 public:
  using input_type = T;

  Parameter<T, D> weight;
  Parameter<T, D> bias;  ///< empty if the layer has none

  /// throws ArgumentError unless both sizes are positive
  Linear(std::int64_t in, std::int64_t out, bool with_bias = true, D device = {}) {
    if (in < 1 || out < 1)
      fail<ArgumentError>({"Linear: ", in, " inputs and ", out, " outputs; expected at least 1 of each"});
    const double bound = 1.0 / math::sqrt(static_cast<double>(in));
    weight = Parameter<T, D>(init::uniform_(Tensor<T, D>({out, in}, device), -bound, bound));
    if (with_bias) bias = Parameter<T, D>(init::uniform_(Tensor<T, D>({out}, device), -bound, bound));
  }
#include <locus/refuse/nn/linear_class.inc>

  template <TensorLike X> [[nodiscard]] auto forward(const X& x) const { return forward_with(x, Activation::none); }

  /// The layer's operation by another weight.
  template <TensorLike X, TensorLike W>
  [[nodiscard]] auto forward_by(const X& x, const W& w) const {
    return linear(x, w, bias);
  }
  /// activation(x W^T + b) in the same launch.
  template <TensorLike X>
  [[nodiscard]] auto forward_with(const X& x, Activation next) const {
    const detail::ObservedCall call({this, &typeid(Linear)}, x);
    auto y = linear(x, weight, bias, functor::ChosenActivation{next});
    call.end(y);
    return y;
  }

  void members(const auto& visit) const {
    visit("weight", weight);
    visit("bias", bias);
  }
  /// Options of the layer, for to_string.
  [[nodiscard]] std::string extra_repr() const {
    return join(weight.size(1), ", ", weight.size(0), detail::option_text("bias", bias.defined(), true));
  }
  /// A layer of the same configuration for U on E, without memory.
  template <class U, class E> [[nodiscard]] auto twin() const { return Linear<U, E>(); }

 private:
  template <class, class>
  friend class Linear;
  Linear() = default;
};
#define LOCUS_REFUSED_LAYER Linear
#include <locus/refuse/nn/no_types.inc>

}}}  // namespace locus::LOCUS_ABI::nn

#include <locus/instances/nn/linear.inc>
