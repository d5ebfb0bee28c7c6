// A layer of your own that computes with a tensor of another device, called by a function template of yours.
// because: the mistake is in the layer; compilers print the template backtrace up to their limit
// expect-error: left_is_on<locus::Cuda>.*right_is_on<locus::Cpu>|left operand is on Cuda, right operand is on Cpu
// flags(clang): -ftemplate-backtrace-limit=1
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

template <Device D>
float trained(const Scaled<D>& layer, const Tensor<float, D>& x) {
  return mean(layer(x)).item();
}
float mistake(const Scaled<Cuda>& layer, const Tensor<float, Cuda>& x) { return trained(layer, x); }
