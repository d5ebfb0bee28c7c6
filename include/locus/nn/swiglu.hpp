#pragma once
// The gated perceptron of Llama and its relatives.

#include <locus/nn/linear.hpp>

namespace locus { inline namespace LOCUS_ABI { namespace nn {

struct SwiGLUOptions {
  bool bias = false;  ///< of the three linear layers
};

/// y = down_proj(silu(gate_proj(x)) * up_proj(x)) (Shazeer, 2020), with the names of Hugging Face's LlamaMLP.
/// shape: (..., width) -> (..., width); width -> inner -> width. Parameters: those of three linear layers, with their
/// initial values. cost: three linear layers, and one launch for the product with silu
///
///     nn::SwiGLU<float, D> mlp{512, 1408};
template <class T, class D>
class SwiGLU final : public Layer<SwiGLU<T, D>, T, D> {
 public:
  using input_type = T;

  Linear<T, D> gate_proj, up_proj, down_proj;

  /// throws ArgumentError unless both sizes are positive
  SwiGLU(std::int64_t width, std::int64_t inner, const SwiGLUOptions& options = {}, D device = {})
      : gate_proj(width, inner, options.bias, device),
        up_proj(width, inner, options.bias, device),
        down_proj(inner, width, options.bias, device) {}
#include <locus/refuse/nn/swiglu_class.inc>

  template <TensorLike X>
  [[nodiscard]] auto forward(const X& x) const {
    return down_proj(silu(gate_proj(x)) * up_proj(x));
  }

  void members(const auto& visit) const {
    visit("gate_proj", gate_proj);
    visit("up_proj", up_proj);
    visit("down_proj", down_proj);
  }
  /// A layer for U on E, without memory.
  template <class U, class E>
  [[nodiscard]] auto twin() const {
    return SwiGLU<U, E>(gate_proj.template twin<U, E>(), up_proj.template twin<U, E>(),
                        down_proj.template twin<U, E>());
  }

 private:
  template <class, class>
  friend class SwiGLU;
  SwiGLU(Linear<T, D> gate, Linear<T, D> up, Linear<T, D> down)
      : gate_proj(std::move(gate)), up_proj(std::move(up)), down_proj(std::move(down)) {}
};
#define LOCUS_REFUSED_LAYER SwiGLU
#include <locus/refuse/nn/no_types.inc>

}}}  // namespace locus::LOCUS_ABI::nn
