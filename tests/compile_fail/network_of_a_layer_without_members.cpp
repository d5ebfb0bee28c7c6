// A layer with parameters in a network, which lists none of them.
// because: they would be neither trained nor saved, and nothing would say so
// expect-error: layer_without_members<Scaled ?>|a layer lists no members; write a public void members
// expect-error: list_them_in_public_void_members|or derive from nn::Stateless
#include <locus/locus.hpp>

using namespace locus;

struct Scaled : nn::Layer<Scaled, float, Cpu> {
  Parameter<float, Cpu> scale{ones({4})};
  auto forward(const auto& x) const { return x * seen_by(x, scale); }
#ifndef LOCUS_MUST_FAIL
  void members(const auto& visit) const { visit("scale", scale); }
#endif
};

void mistake() { const nn::Sequential<float, Cpu> network{nn::Linear<float, Cpu>{4, 4}, Scaled{}}; }
