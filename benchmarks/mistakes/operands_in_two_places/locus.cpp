// Two tensors in two places are added.
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
  Tensor<float, Other> w = ones({2, 3}, Other{});
  Tensor y = x + w;
  passed();
  return verdict(sum(y).item() == 12);
}
