// Initial values for a tensor in page-locked memory.
// because: nothing computes there
// expect-error: pinned_memory_cannot_compute|nothing computes in pinned memory
#include <locus/locus.hpp>

using namespace locus;

void mistake(const Tensor<float, Pinned>& weight) {
#ifdef LOCUS_MUST_FAIL
  nn::init::kaiming_normal_(weight);
#else
  nn::init::kaiming_normal_(weight.to<Cpu>());
#endif
}
