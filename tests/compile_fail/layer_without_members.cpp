// Asking a layer for its parameters that lists none.
// because: its parameters would never be trained: C++ cannot find the members of a class by itself
// expect-error: layer_without_members<Halved<locus::Cpu> ?>|parameters\(\) of a layer that lists no members
// expect-error: list_them_in_public_void_members|write a public void members\(const auto& visit\) const
#include <locus/locus.hpp>

using namespace locus;

template <Device D>
struct Halved : nn::Layer<Halved<D>, float, D> {
  nn::Linear<float, D> inner{4, 4};
  auto forward(const auto& x) const { return inner(x) * 0.5f; }
#ifndef LOCUS_MUST_FAIL
  void members(const auto& visit) const { visit("inner", inner); }
#endif
};

auto mistake(const Halved<Cpu>& layer) { return layer.parameters(); }
