// The distinct elements of a tensor in pinned memory.
// because: pinned memory holds tensors on their way; nothing computes there
// expect-error: tensor_is_on<locus::Pinned>|nothing computes in pinned memory
// expect-error: pinned_memory_cannot_compute_move_with_to_Cpu_or_to_Cuda|move with \.to<Cpu>\(\)
#include <locus/locus.hpp>
#include <locus/ops/unique.hpp>

using namespace locus;

void mistake(const Tensor<float, Pinned>& x) {
#ifdef LOCUS_MUST_FAIL
  (void)unique(x);
#else
  (void)unique(x.to<Cpu>());
#endif
}
