// A matrix is reshaped where it should be transposed.
#include <locus/locus.hpp>

#include "verdict.hpp"

using namespace locus;

int main() {
  const Tensor<float> x = from({1, 2, 3, 4, 5, 6}).reshape({2, 3});
#ifdef MISTAKE
  const Tensor<float> y = x.reshape({3, 2});
#else
  const Tensor<float> y = x.transpose();
#endif
  passed();
  return verdict(y(0, 1) == 4);
}
