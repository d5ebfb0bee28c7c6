// The same, the other way round.
// because: which operand is where makes no difference; the message names them in the order in which you wrote them
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
