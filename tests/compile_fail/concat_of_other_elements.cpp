// Joining tensors of two element types.
// because: there is no implicit promotion
// expect-error: left_holds<float>.*right_holds<double>|element types, float and double
// expect-error: concat.*(convert_one_with_as_T|convert one with \.as<T>\(\))
#include <locus/locus.hpp>

using namespace locus;

void mistake(const Tensor<float>& x, const Tensor<double>& y) {
#ifdef LOCUS_MUST_FAIL
  (void)concat(0, x, y);
#else
  (void)concat(0, x, y.as<float>());
#endif
}
