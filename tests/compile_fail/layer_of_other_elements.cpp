// Calling a layer with another element type.
// because: the product of both is no operation
// expect-error: left_holds<float>.*right_holds<double>|element types, float and double
// expect-error: convert_one_with_as_T|convert one with \.as<T>\(\)
#include <locus/locus.hpp>

using namespace locus;

void mistake(const nn::Linear<float, Cpu>& layer, const Tensor<double>& x) {
#ifdef LOCUS_MUST_FAIL
  (void)layer(x);
#else
  (void)layer(x.as<float>());
#endif
}
