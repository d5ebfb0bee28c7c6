// where on two devices.
// because: all three operands are read by one launch, on one device
// expect-error: left_is_on<locus::Cuda>.*right_is_on<locus::Cpu>|one operand is on Cuda, another on Cpu
// expect-error: to_Cpu_or_to_Cuda|\.to<Cpu>\(\) or \.to<Cuda>\(\)
#include <locus/locus.hpp>

using namespace locus;

auto mistake(Tensor<bool, Cuda> c, Tensor<float, Cpu> x) {
#ifdef LOCUS_MUST_FAIL
  return where(c, x, 0);
#else
  return where(c, x.to<Cuda>(), 0);
#endif
}
