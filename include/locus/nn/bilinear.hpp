#pragma once
// A bilinear form of two inputs as a layer. Not part of locus/locus.hpp.

#include <locus/nn/init.hpp>
#include <locus/nn/module.hpp>
#include <locus/ops/einsum.hpp>

namespace locus { inline namespace LOCUS_ABI { namespace nn {

/// y(o) = x1^T W(o) x2 + b(o). See locus::bilinear.
/// shape: (..., first), (..., second) -> (..., out). Parameters: weight (out, first, second), bias (out), both
/// initialized uniformly in +-1/sqrt(first), as in PyTorch. cost: as bilinear, and a launch for the bias
template <class T, class D>
class Bilinear final : public Layer<Bilinear<T, D>, T, D> {
 public:
  using input_type = T;

  Parameter<T, D> weight;
  Parameter<T, D> bias;  ///< empty if the layer has none

  /// throws ArgumentError unless all sizes are positive
  Bilinear(std::int64_t first, std::int64_t second, std::int64_t out, bool with_bias = true, D device = {}) {
    if (first < 1 || second < 1 || out < 1)
      fail<ArgumentError>(
          {"Bilinear: ", first, " and ", second, " inputs and ", out, " outputs; expected at least 1 ", "of each"});
    const double bound = 1.0 / math::sqrt(static_cast<double>(first));
    weight = Parameter<T, D>(init::uniform_(Tensor<T, D>({out, first, second}, device), -bound, bound));
    if (with_bias) bias = Parameter<T, D>(init::uniform_(Tensor<T, D>({out}, device), -bound, bound));
  }

  template <TensorLike X, TensorLike Y>
  [[nodiscard]] auto forward(const X& x, const Y& y) const {
    using Result = std::remove_cvref_t<decltype(bilinear(x, y, weight))>;
    Result products = bilinear(x, y, weight);
    return bias.defined() ? Result(products + bias) : products;
  }

  void members(const auto& visit) const {
    visit("weight", weight);
    visit("bias", bias);
  }
  /// Options of the layer, for to_string.
  [[nodiscard]] std::string extra_repr() const {
    return join(weight.size(1), ", ", weight.size(2), ", ", weight.size(0),
                detail::option_text("bias", bias.defined(), true));
  }
  /// A layer of the same configuration for U on E, without memory.
  template <class U, class E> [[nodiscard]] auto twin() const { return Bilinear<U, E>(); }

 private:
  template <class, class>
  friend class Bilinear;
  Bilinear() = default;
};

}}}  // namespace locus::LOCUS_ABI::nn
