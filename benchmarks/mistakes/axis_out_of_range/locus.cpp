// An axis does not exist.
#include <locus/locus.hpp>

#include "verdict.hpp"

using namespace locus;

int main() {
  const Tensor<float> x = ones({2, 3});
#ifdef MISTAKE
  const Tensor y = sum(x, 2);
#else
  const Tensor y = sum(x, 1);
#endif
  passed();
  return verdict(y.elements() == 2);
}
