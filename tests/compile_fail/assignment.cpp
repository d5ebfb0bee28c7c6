// Assignment across devices.
// because: assignment makes a handle refer to other elements, and these are elsewhere
// expect-error: source.*Cuda.*target.*Cpu
// expect-error: copy_with_to_Cpu_or_to_Cuda|copy with \.to<
#include <locus/locus.hpp>

using namespace locus;

void mistake(Tensor<float, Cpu> x, Tensor<float, Cuda> w) {
#ifdef LOCUS_MUST_FAIL
  x = w;
#else
  x = w.to<Cpu>();
#endif
}
