// An operand changes before a lazy result is read.
#include <locus/locus.hpp>

#include "verdict.hpp"

using namespace locus;

int main() {
  Tensor<float> x = from({1});
#ifdef MISTAKE
  const auto y = x + 1;
#else
  const Tensor y = x + 1;
#endif
  x.fill_(5);
  passed();
  return verdict(sum(y).item() == 2);
}
