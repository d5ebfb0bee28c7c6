// Converting a layer with a member that makes none of itself for another element type.
// because: every layer below a model is copied with it
// expect-error: layer_without_twin<Residual<float, locus::Cpu> ?>|a layer of your own makes none of itself
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

template <class T, Device D>
struct Tower : nn::Layer<Tower<T, D>, T, D> {
  std::vector<Residual<T, D>> floors;
  auto forward(const auto& x) const { return floors[0](x); }
  void members(const auto& visit) const { visit("floors", floors); }
  template <class U, class E> auto twin() const { return Tower<U, E>{}; }
};

auto mistake(const Tower<float, Cpu>& model) { return model.as<double>(); }
