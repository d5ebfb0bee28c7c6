// A layer of your own that computes with a tensor of another device.
// because: the layer is a template, and where its tensors are is known when it is called
// expect-error: left_is_on<locus::Cuda>.*right_is_on<locus::Cpu>|left operand is on Cuda, right operand is on Cpu
// expect-error: move_one_with_to_Cpu_or_to_Cuda|move one with \.to<Cpu>\(\) or \.to<Cuda>\(\)
#include <locus/locus.hpp>

using namespace locus;

template <Device D>
struct Scaled : nn::Layer<Scaled<D>, float, D> {
  nn::Linear<float, D> inner{4, 4};
  Tensor<float, Cpu> scale = ones({4});

  auto forward(const auto& x) const {
#ifdef LOCUS_MUST_FAIL
    return inner(x) * scale;
#else
    return inner(x) * scale.to<D>();
#endif
  }
  void members(const auto& visit) const { visit("inner", inner); }
};

auto mistake(const Scaled<Cuda>& layer, const Tensor<float, Cuda>& x) { return layer(x); }
