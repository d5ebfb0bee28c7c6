// A layer inside a layer is not listed.
#include <locus/locus.hpp>

#include "verdict.hpp"

using namespace locus;

struct Halved : nn::Layer<Halved, float, Cpu> {
  nn::Linear<float, Cpu> inner{4, 4};
  auto forward(const auto& x) const { return inner(x) * 0.5f; }
#ifndef MISTAKE
  void members(const auto& visit) const { visit("inner", inner); }
#endif
};

int main() {
  Halved layer;
  passed();
  return verdict(layer.parameters().size() == 2);
}
