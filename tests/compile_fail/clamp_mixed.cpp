// Bounds of clamp on another device.
// because: bounds may be tensors, and are read in the launch that reads the input
// expect-error: left_is_on<locus::Cpu>.*right_is_on<locus::Cuda>|one operand is on Cpu, another on Cuda
// expect-error: to_Cpu_or_to_Cuda|\.to<Cpu>\(\) or \.to<Cuda>\(\)
#include <locus/locus.hpp>

using namespace locus;

auto mistake(Tensor<float, Cpu> x, Tensor<float, Cuda> low) {
#ifdef LOCUS_MUST_FAIL
  return clamp(x, low, 1);
#else
  return clamp(x, low.to<Cpu>(), 1);
#endif
}
