// Tensors of two places are joined.
#include <locus/locus.hpp>

#include "elsewhere.hpp"
#include "verdict.hpp"

using namespace locus;

int main() {
  Tensor<float> a = ones({2});
  Tensor<float, Other> b = ones({3}, Other{});
  Tensor y = concat(0, a, b);
  passed();
  return verdict(y.elements() == 5);
}
