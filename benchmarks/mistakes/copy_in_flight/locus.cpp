// A tensor is used while it is being copied.
#include <locus/locus.hpp>

#include "verdict.hpp"

using namespace locus;

int main() {
  Tensor<float> host = ones({4});
#ifdef MISTAKE
  Tensor<float> w = ones({4});
  auto y = copy_async(host.to<Pinned>(), Cuda{}) * w.to<Cuda>();
#else
  Tensor y = host * 1.f;
#endif
  passed();
  return verdict(sum(y).item() == 4);
}
