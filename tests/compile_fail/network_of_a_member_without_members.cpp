// A layer inside a layer, that lists no parameters, in a network.
// because: they would never be trained
// expect-error: layer_without_members<Inner>|the layer lists no members of its own
// expect-error: list_them_in_public_void_members_const_auto_visit|write a public void members\(const auto& visit\)
#include <locus/locus.hpp>

using namespace locus;

struct Inner : nn::Layer<Inner, float, Cpu> {
  nn::Linear<float, Cpu> linear{4, 4};
  auto forward(const auto& x) const { return linear(x); }
#ifndef LOCUS_MUST_FAIL
  void members(const auto& visit) const { visit("linear", linear); }
#endif
};
struct Outer : nn::Layer<Outer, float, Cpu> {
  Inner inner;
  auto forward(const auto& x) const { return inner(x); }
  void members(const auto& visit) const { visit("inner", inner); }
};

nn::Sequential<float, Cpu> mistake() { return {Outer{}, nn::ReLU{}}; }
