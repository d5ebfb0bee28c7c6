// Pooling of pinned memory.
// because: pinned memory only waits for a copy
// expect-error: tensor_is_on<locus::Pinned>|nothing computes in pinned memory
// expect-error: avg_pool2d.*(move_with_to_Cpu_or_to_Cuda|move with \.to<Cpu>\(\) or \.to<Cuda>\(\))
#include <locus/locus.hpp>

using namespace locus;

auto mistake(const Tensor<float, Pinned>& x) {
#ifdef LOCUS_MUST_FAIL
  return avg_pool2d(x, 2);
#else
  return avg_pool2d(x.to<Cpu>(), 2);
#endif
}
