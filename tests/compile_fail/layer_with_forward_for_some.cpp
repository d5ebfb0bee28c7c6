// Calling a layer of your own with an argument that neither of its forwards takes.
// because: a call asks for exactly this argument
// expect-error: layer_has_no_forward_that_takes_this_argument|it has no forward that takes this argument
// expect-error: write_auto_forward_const_auto_x_const|write auto forward\(const auto& x\) const
#include <locus/locus.hpp>

using namespace locus;

struct Halved : nn::Layer<Halved, float, Cpu> {
  nn::Linear<float, Cpu> inner{4, 4};
#ifdef LOCUS_MUST_FAIL
  Tensor<float> forward(const Tensor<float>& x) const { return inner(x) * 0.5f; }
  Tensor<float> forward(const Tensor<float>& x, float scale) const { return inner(x) * scale; }
#else
  auto forward(const auto& x) const { return inner(x) * 0.5f; }
#endif
  void members(const auto& visit) const { visit("inner", inner); }
};

auto mistake(const Halved& layer, const Tensor<float>& x) { return layer(trace(x)); }
