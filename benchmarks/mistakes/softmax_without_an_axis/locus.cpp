// A softmax does not say along which axis.
#include <locus/locus.hpp>

#include "verdict.hpp"

using namespace locus;

int main() {
  const Tensor<float> x = ones({2, 4});
#ifdef MISTAKE
  const Tensor y = softmax(x);
#else
  const Tensor y = softmax(x, 1);
#endif
  passed();
  return verdict(y(0, 0) == 0.25f);
}
