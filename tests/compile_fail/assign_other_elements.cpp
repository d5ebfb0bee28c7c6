// Assigning a tensor of another element type.
// because: a conversion costs a pass over the elements, and may lose digits
// expect-error: left_holds<double>.*right_holds<float>|element types, double and float
// expect-error: convert_one_with_as_T|convert one with \.as<T>\(\)
#include <locus/locus.hpp>

using namespace locus;

void mistake(Tensor<float>& y, const Tensor<double>& x) {
#ifdef LOCUS_MUST_FAIL
  y = x;
#else
  y = x.as<float>();
#endif
}
