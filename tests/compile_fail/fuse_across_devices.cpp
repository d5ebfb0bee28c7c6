// A fused formula of tensors on two devices.
// because: the formula is one kernel, and runs in one place
// expect-error: left_is_on<locus::Cpu>.*right_is_on<locus::Cuda>|one tensor is on Cpu, another on Cuda
// expect-error: fuse.*(move_one_with_to_Cpu_or_to_Cuda|move one with \.to<Cpu>\(\))
#include <locus/locus.hpp>

using namespace locus;

void mistake(const Tensor<float>& a, const Tensor<float, Cuda>& b) {
#ifdef LOCUS_MUST_FAIL
  (void)fuse([](auto x, auto y) { return x * y + x; }, a, b);
#else
  (void)fuse([](auto x, auto y) { return x * y + x; }, a, b.to<Cpu>());
#endif
}
