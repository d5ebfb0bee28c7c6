// A matrix product of two places.
#include <locus/locus.hpp>

#include "verdict.hpp"

using namespace locus;

int main() {
#ifdef MISTAKE
  using Other = Cuda;
#else
  using Other = Cpu;
#endif
  Tensor<float> x = ones({2, 3});
  Tensor<float, Other> w = ones({3, 4}, Other{});
  Tensor y = matmul(x, w);
  passed();
  return verdict(sum(y).item() == 24);
}
