// A tensor made of one of another element type.
// because: a conversion costs a pass over the elements, and may lose digits
// expect-error: left_holds<double>.*right_holds<float>|the source holds double, the target float
// expect-error: convert_one_with_as_T|convert with \.as<float>\(\)
#include <locus/locus.hpp>

using namespace locus;

void mistake(const Tensor<double>& x) {
#ifdef LOCUS_MUST_FAIL
  Tensor<float> y = x;
#else
  Tensor<float> y = x.as<float>();
#endif
}
