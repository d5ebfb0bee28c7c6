// A parameter made of one on another device.
// because: a parameter is a handle: both would be one, in two places
// expect-error: source_is_on<locus::Cuda>.*target_is_on<locus::Cpu>|the source is on Cuda, the target is on Cpu
// expect-error: copy_with_to_Cpu_or_to_Cuda|copy with x.value\(\)\.to<Cpu>\(\)
#include <locus/locus.hpp>

using namespace locus;

void mistake(const Parameter<float, Cuda>& w) {
#ifdef LOCUS_MUST_FAIL
  Parameter<float, Cpu> copy = w;
#else
  Parameter<float, Cpu> copy(w.value().to<Cpu>());
#endif
}
