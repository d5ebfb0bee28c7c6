// The larger elements of tensors on two devices.
// because: it is an operation like any other
// expect-error: left_is_on<locus::Cpu>.*right_is_on<locus::Cuda>|left operand is on Cpu, right operand is on Cuda
// expect-error: max.*(move_one_with_to_Cpu_or_to_Cuda|move one with \.to<Cpu>\(\))
#include <locus/locus.hpp>

using namespace locus;

void mistake(const Tensor<float>& a, const Tensor<float, Cuda>& b) {
#ifdef LOCUS_MUST_FAIL
  (void)max(a, b);
#else
  (void)max(a, b.to<Cpu>());
#endif
}
