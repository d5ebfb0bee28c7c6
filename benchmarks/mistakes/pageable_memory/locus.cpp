// An asynchronous copy from pageable memory.
#include <locus/locus.hpp>

#include "verdict.hpp"

using namespace locus;

int main() {
  Tensor<float> host = ones({4});
#ifdef MISTAKE
  auto y = copy_async(host, Cuda{});
#else
  Tensor y = host.to<Cpu>();
#endif
  passed();
  return verdict(y.elements() == 4);
}
