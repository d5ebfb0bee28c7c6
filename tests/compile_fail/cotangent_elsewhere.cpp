// A cotangent on another device.
// expect-error(gcc): source_is_on<locus::Cpu>.*target_is_on<locus::Cuda>
// expect-error(clang): Tensor<.*Cpu>.*Tensor<.*Cuda>.*deleted
// compilers: gcc clang
#include <locus/locus.hpp>

using namespace locus;

void mistake(Traced<float, Cuda> y, Tensor<float, Cpu> g) {
#ifdef LOCUS_MUST_FAIL
  y.backward(g);
#else
  y.backward(g.to<Cuda>());
#endif
}
