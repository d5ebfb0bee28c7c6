// A new shape has another number of elements.
#include <locus/locus.hpp>

#include "verdict.hpp"

using namespace locus;

int main() {
  const Tensor<float> x = ones({2, 3});
#ifdef MISTAKE
  const Tensor y = x.reshape({4, 2});
#else
  const Tensor y = x.reshape({3, 2});
#endif
  passed();
  return verdict(y.elements() == 6);
}
