// Construction across devices.
// expect-error(gcc): source_is_on<locus::Cuda>.*target_is_on<locus::Cpu>.*copy_with_to
// expect-error(clang): deleted constructor.*Tensor<float, locus::Cpu>
// compilers: gcc clang
#include <locus/locus.hpp>

using namespace locus;

void mistake(Tensor<float, Cuda> w) {
#ifdef LOCUS_MUST_FAIL
  const Tensor<float, Cpu> x(w);
#else
  const Tensor<float, Cpu> x(w.to<Cpu>());
#endif
}
