// A matrix product of two places.
#include <locus/locus.hpp>

#include "elsewhere.hpp"
#include "verdict.hpp"

using namespace locus;

int main() {
  Tensor<float> x = ones({2, 3});
  Tensor<float, Other> w = ones({3, 4}, Other{});
  Tensor y = matmul(x, w);
  passed();
  return verdict(sum(y).item() == 24);
}
