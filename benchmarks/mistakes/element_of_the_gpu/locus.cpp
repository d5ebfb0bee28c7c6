// The host reads an element of the GPU's memory.
#include <locus/locus.hpp>

#include "verdict.hpp"

using namespace locus;

int main() {
#ifdef MISTAKE
  using Place = Cuda;
#else
  using Place = Cpu;
#endif
  Tensor<float, Place> x = ones({2, 3}, Place{});
  const float first = x(0, 1);
  passed();
  return verdict(first == 1);
}
