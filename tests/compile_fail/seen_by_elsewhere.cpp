// A parameter beside an input of another device.
// because: the layer that calls seen_by computes on both
// expect-error: input_is_on<locus::Cuda>.*weights_are_on<locus::Cpu>|the input is on Cuda, the parameter is on Cpu
// expect-error: seen_by.*(move_one_with_to_Cpu_or_to_Cuda|move one with \.to<Cpu>\(\))
#include <locus/locus.hpp>

using namespace locus;

void mistake(const Tensor<float, Cuda>& x, const Parameter<float, Cpu>& w) {
#ifdef LOCUS_MUST_FAIL
  (void)seen_by(x, w);
#else
  (void)seen_by(x.to<Cpu>(), w);
#endif
}
