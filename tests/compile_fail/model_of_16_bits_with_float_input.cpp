// A model of 16 bits called with float.
// because: no type is converted unless one says so; the input is converted once, not in each layer
// expect-error: left_holds<locus::.*bfloat16>.*right_holds<float>|element types
// expect-error: convert_one_with_as_T|convert one with \.as<T>\(\)
#include <locus/locus.hpp>

using namespace locus;

void mistake(const nn::Sequential<bfloat16, Cuda>& model16, const Tensor<float, Cuda>& images) {
#ifdef LOCUS_MUST_FAIL
  (void)model16(trace(images));
#else
  (void)model16(trace(images.as<bfloat16>()));
#endif
}
