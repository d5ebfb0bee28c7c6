// Writing into a tensor from another device.
// because: copy_ writes through one launch on the device of the target; a transfer is written .to<...>()
// expect-error: source.*Cuda.*target.*Cpu
// expect-error: copy_with_to_Cpu_or_to_Cuda|copy with \.to<
#include <locus/locus.hpp>

using namespace locus;

void mistake(Tensor<float, Cpu> x, Tensor<float, Cuda> w) {
#ifdef LOCUS_MUST_FAIL
  x.copy_(w);
#else
  x.copy_(w.to<Cpu>());
#endif
}
