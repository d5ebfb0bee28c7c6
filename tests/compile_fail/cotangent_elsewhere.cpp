// A cotangent on another device.
// because: the gradient of a result lies where the result does
// expect-error: source_is_on<locus::Cpu>.*target_is_on<locus::Cuda>|source is on Cpu, the target is on Cuda
// expect-error: copy_with_to_Cpu_or_to_Cuda|copy with \.to<Cuda>\(\)
#include <locus/locus.hpp>

using namespace locus;

void mistake(Traced<float, Cuda> y, Tensor<float, Cpu> g) {
#ifdef LOCUS_MUST_FAIL
  y.backward(g);
#else
  y.backward(g.to<Cuda>());
#endif
}
