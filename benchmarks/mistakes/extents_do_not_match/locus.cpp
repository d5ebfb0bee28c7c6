// Two tensors of other extents are added.
#include <locus/locus.hpp>

#include "verdict.hpp"

using namespace locus;

int main() {
#ifdef MISTAKE
  const Tensor<float> y = ones({4});
#else
  const Tensor<float> y = ones({3});
#endif
  const Tensor z = ones({3}) + y;
  passed();
  return verdict(sum(z).item() == 6);
}
