// A cotangent on another device.
// expect-error: source_is_on<locus::Cpu>.*target_is_on<locus::Cuda>.*copy_with_to|source is on Cpu, the target is on
// Cuda; copy with \.to<Cuda>
#include <locus/locus.hpp>

using namespace locus;

void mistake(Traced<float, Cuda> y, Tensor<float, Cpu> g) {
#ifdef LOCUS_MUST_FAIL
  y.backward(g);
#else
  y.backward(g.to<Cuda>());
#endif
}
