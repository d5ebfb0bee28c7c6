// A traced tensor made of one on another device.
// because: a copy is recorded, so that its gradient finds the way back: it has to be written
// expect-error: source_is_on<locus::Cpu>.*target_is_on<locus::Cuda>|the source is on Cpu, the target is on Cuda
// expect-error: copy_with_to_Cpu_or_to_Cuda|copy with \.to<Cuda>\(\)
#include <locus/locus.hpp>

using namespace locus;

void mistake(const Traced<float, Cpu>& x) {
#ifdef LOCUS_MUST_FAIL
  Traced<float, Cuda> y = x;
#else
  Traced<float, Cuda> y = x.to<Cuda>();
#endif
}
