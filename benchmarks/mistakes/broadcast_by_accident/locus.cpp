// A column is subtracted from a row.
#include <locus/locus.hpp>

#include "verdict.hpp"

using namespace locus;

int main() {
  const Tensor<float> x = from({1, 2, 3});
#ifdef MISTAKE
  const Tensor<float> y = from({1, 2, 3}).reshape({3, 1});
#else
  const Tensor<float> y = from({1, 2, 3});
#endif
  const Tensor distance = mean(square(x - y));
  passed();
  return verdict(distance.item() == 0);
}
