// A mask elsewhere than the values.
#include <locus/locus.hpp>

#include "verdict.hpp"

using namespace locus;

int main() {
#ifdef MISTAKE
  using Other = Cuda;
#else
  using Other = Cpu;
#endif
  Tensor<float> x = ones({3});
  Tensor<bool, Other> mask = from({1, -1, 1}).to<Other>() > 0.f;
  Tensor y = where(mask, x, 0);
  passed();
  return verdict(sum(y).item() == 2);
}
