// A sum goes along the wrong axis.
#include <locus/locus.hpp>

#include "verdict.hpp"

using namespace locus;

int main() {
  const Tensor<float> x = from({1, 2, 3, 4}).reshape({2, 2});
#ifdef MISTAKE
  const Tensor columns = sum(x, 1);
#else
  const Tensor columns = sum(x, 0);
#endif
  passed();
  return verdict(columns(0) == 4);
}
