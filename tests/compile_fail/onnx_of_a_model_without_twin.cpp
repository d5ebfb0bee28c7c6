// Exporting a model that makes none of itself for another place.
// compilers: gcc clang
// because: the export copies the model to a place where calls become nodes of a graph
// expect-error: the_model_cannot_be_copied_to_the_place_that_records|onnx::save: the model cannot be copied
// expect-error: write_template_class_U_class_E_auto_twin_const_return|write template <class U, class E> auto twin
#include <locus/interop/onnx_export.hpp>
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

auto mistake(const Residual<float, Cpu>& model) { onnx::save("residual.onnx", model, zeros<float>({1, 64})); }
