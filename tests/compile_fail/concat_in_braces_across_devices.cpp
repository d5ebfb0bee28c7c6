// A list of tensors on two devices.
// because: the result has one place, where all parts are written
// expect-error: left_is_on<locus::Cpu>.*right_is_on<locus::Cuda>|one tensor is on Cpu, another on Cuda
// expect-error: move_one_with_to_Cpu_or_to_Cuda|move one with \.to<Cpu>\(\) or \.to<Cuda>\(\)
#include <locus/locus.hpp>

using namespace locus;

void mistake(const Tensor<float>& a, const Tensor<float, Cuda>& b) {
#ifdef LOCUS_MUST_FAIL
  (void)concat({a, b}, 1);
#else
  (void)concat({a, b.to<Cpu>()}, 1);
#endif
}
