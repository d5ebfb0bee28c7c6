// Adding in place from another device.
// because: an in-place operation reads its operand on the device of its target
// expect-error: left.*Cpu.*right.*Cuda
// expect-error: to_Cpu_or_to_Cuda|\.to<Cpu>\(\) or \.to<Cuda>\(\)
#include <locus/locus.hpp>

using namespace locus;

void mistake(Tensor<float, Cpu> x, Tensor<float, Cuda> w) {
#ifdef LOCUS_MUST_FAIL
  x += w;
#else
  x += w.to<Cpu>();
#endif
}
