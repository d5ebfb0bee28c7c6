// Construction across devices.
// expect-error: source_is_on<locus::Cuda>.*target_is_on<locus::Cpu>.*copy_with_to|source is on Cuda, the target is on
// Cpu; copy with \.to<Cpu>
#include <locus/locus.hpp>

using namespace locus;

void mistake(Tensor<float, Cuda> w) {
#ifdef LOCUS_MUST_FAIL
  const Tensor<float, Cpu> x(w);
#else
  const Tensor<float, Cpu> x(w.to<Cpu>());
#endif
}
