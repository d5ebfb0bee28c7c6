// Calling a layer of your own whose forward is not const.
// because: computing does not change a layer; parameters are shared handles, which an optimizer changes
// expect-error: layer_has_no_forward_that_takes_this_argument|it has no forward that takes this argument
// expect-error: write_auto_forward_const_auto_x_const|write auto forward\(const auto& x\) const
#include <locus/locus.hpp>

using namespace locus;

template <Device D>
struct Halved : nn::Layer<Halved<D>, float, D> {
  nn::Linear<float, D> inner{4, 4};
#ifdef LOCUS_MUST_FAIL
  auto forward(const auto& x) { return inner(x) * 0.5f; }
#else
  auto forward(const auto& x) const { return inner(x) * 0.5f; }
#endif
  void members(const auto& visit) const { visit("inner", inner); }
};

auto mistake(const Halved<Cpu>& layer, const Tensor<float>& x) { return layer(x); }
