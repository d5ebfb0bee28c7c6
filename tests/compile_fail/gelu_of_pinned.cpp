// An activation of pinned memory.
// because: pinned memory only waits for a copy
// expect-error: tensor_is_on<locus::Pinned>|nothing computes in pinned memory
// expect-error: gelu.*(move_with_to_Cpu_or_to_Cuda|move with \.to<Cpu>\(\) or \.to<Cuda>\(\))
#include <locus/locus.hpp>

using namespace locus;

void mistake(const Tensor<float, Pinned>& x) {
#ifdef LOCUS_MUST_FAIL
  (void)gelu(x);
#else
  (void)gelu(x.to<Cpu>());
#endif
}
