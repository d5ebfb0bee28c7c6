// A network with a layer that does not compute anything.
// because: there is nothing to call
// expect-error: layer_without_forward|a layer has no forward
// expect-error: write_auto_forward_const_auto_x_const|write auto forward\(const auto& x\) const
#include <locus/locus.hpp>

using namespace locus;

template <Device D>
struct Halved : nn::Layer<Halved<D>, float, D> {
  nn::Linear<float, D> inner{4, 4};
#ifndef LOCUS_MUST_FAIL
  auto forward(const auto& x) const { return inner(x) * 0.5f; }
#endif
  void members(const auto& visit) const { visit("inner", inner); }
};

nn::Sequential<float, Cpu> mistake() { return {nn::ReLU{}, Halved<Cpu>{}}; }
