// Doubles are assigned to floats.
#include <locus/locus.hpp>

#include "verdict.hpp"

using namespace locus;

int main() {
  const auto x = from<double>({1e-50});
#ifdef MISTAKE
  const Tensor<float> y = x;
#else
  const Tensor<double> y = x;
#endif
  passed();
  return verdict(y.item() > 0);
}
