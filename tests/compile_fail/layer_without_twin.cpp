// Moving a layer of your own that makes none of itself for another device.
// because: C++ cannot name the same layer for another device, nor the arguments of its constructor
// expect-error: layer_without_twin<Residual<float, locus::Cuda> ?>|to<D>\(\): a layer of your own makes none of itself
// expect-error: write_template_class_U_class_E_auto_twin_const_return|write template <class U, class E> auto twin
#include <locus/locus.hpp>

using namespace locus;

template <class T, Device D>
struct Residual : nn::Layer<Residual<T, D>, T, D> {
  nn::Linear<T, D> inner{64, 64};
  auto forward(const auto& x) const { return relu(x + inner(x)); }
  void members(const auto& visit) const { visit("inner", inner); }
#ifndef LOCUS_MUST_FAIL
  template <class U, class E> auto twin() const { return Residual<U, E>{}; }
#endif
};

auto mistake(Residual<float, Cuda> model) { return std::move(model).to<Cpu>(); }
