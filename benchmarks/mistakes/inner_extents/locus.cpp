// The inner extents of a matrix product differ.
#include <locus/locus.hpp>

#include "verdict.hpp"

using namespace locus;

int main() {
  const Tensor<float> a = ones({2, 3});
#ifdef MISTAKE
  const Tensor<float> b = ones({4, 5});
#else
  const Tensor<float> b = ones({3, 5});
#endif
  const Tensor y = matmul(a, b);
  passed();
  return verdict(sum(y).item() == 30);
}
