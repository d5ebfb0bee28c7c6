// Two tensors in two places are added.
#include <locus/locus.hpp>

#include "elsewhere.hpp"
#include "verdict.hpp"

using namespace locus;

int main() {
  Tensor<float> x = ones({2, 3});
  Tensor<float, Other> w = ones({2, 3}, Other{});
  Tensor y = x + w;
  passed();
  return verdict(sum(y).item() == 12);
}
