// A layer's weights stand in two places.
#include <locus/locus.hpp>

#include "elsewhere.hpp"
#include "verdict.hpp"

using namespace locus;

int main() {
  Tensor<float> x = ones({4, 2}), w = ones({3, 2});
  Tensor<float, Other> bias = ones({3}, Other{});
  Tensor y = linear(x, w, bias);
  passed();
  return verdict(sum(y).item() == 36);
}
