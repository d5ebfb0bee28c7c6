// Adding tensors of two devices.
// because: a GPU cannot read the host's memory, nor the host a GPU's; a copy costs more than the sum, so none is hidden
// expect-error: left.*Cpu.*right.*Cuda
// expect-error: to_Cpu_or_to_Cuda|\.to<Cpu>\(\) or \.to<Cuda>\(\)
#include <locus/locus.hpp>

using namespace locus;

auto mistake(Tensor<float, Cpu> x, Tensor<float, Cuda> w) {
#ifdef LOCUS_MUST_FAIL
  return x + w;
#else
  return x + w.to<Cpu>();
#endif
}
