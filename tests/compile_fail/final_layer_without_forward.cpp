// Calling a final layer of your own that does not compute anything.
// because: there is nothing to call
// expect-error: layer_has_no_forward_that_takes_this_argument|it has no forward that takes this argument
// expect-error: write_auto_forward_const_auto_x_const|write auto forward\(const auto& x\) const
#include <locus/locus.hpp>

using namespace locus;

struct Halved final : nn::Layer<Halved, float, Cpu> {
  nn::Linear<float, Cpu> inner{4, 4};
#ifndef LOCUS_MUST_FAIL
  auto forward(const auto& x) const { return inner(x) * 0.5f; }
#endif
  void members(const auto& visit) const { visit("inner", inner); }
};

auto mistake(const Halved& layer, const Tensor<float>& x) { return layer(x); }
