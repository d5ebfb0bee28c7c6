// Multiplying tensors of two devices, in the other order.
// because: the order makes no difference; the message names the operands in the order in which you wrote them
// expect-error: left.*Cuda.*right.*Cpu
// expect-error: to_Cpu_or_to_Cuda|\.to<Cpu>\(\) or \.to<Cuda>\(\)
#include <locus/locus.hpp>

using namespace locus;

auto mistake(Tensor<float, Cpu> x, Tensor<float, Cuda> w) {
#ifdef LOCUS_MUST_FAIL
  return w * x;
#else
  return w * x.to<Cuda>();
#endif
}
