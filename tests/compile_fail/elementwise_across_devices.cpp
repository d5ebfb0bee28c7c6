// A scalar function of your own on tensors of two devices.
// because: it is an operation like any other
// expect-error: left_is_on<locus::Cpu>.*right_is_on<locus::Cuda>|one operand is on Cpu, another on Cuda
// expect-error: elementwise.*(move_one_with_to_Cpu_or_to_Cuda|move one with \.to<Cpu>\(\))
#include <locus/locus.hpp>

using namespace locus;

void mistake(const Tensor<float>& a, const Tensor<float, Cuda>& b) {
#ifdef LOCUS_MUST_FAIL
  (void)elementwise(functor::Maximum{}, a, b);
#else
  (void)elementwise(functor::Maximum{}, a, b.to<Cpu>());
#endif
}
