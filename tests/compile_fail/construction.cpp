// Construction across devices.
// because: a tensor's place is part of its type; to construct one type from the other would be a hidden copy
// expect-error: source_is_on<locus::Cuda>.*target_is_on<locus::Cpu>|source is on Cuda, the target is on Cpu
// expect-error: copy_with_to_Cpu|copy with \.to<Cpu>\(\)
#include <locus/locus.hpp>

using namespace locus;

void mistake(Tensor<float, Cuda> w) {
#ifdef LOCUS_MUST_FAIL
  const Tensor<float, Cpu> x(w);
#else
  const Tensor<float, Cpu> x(w.to<Cpu>());
#endif
}
