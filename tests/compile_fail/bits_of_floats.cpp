// The bits of floating-point numbers.
// because: the bits of a rounded number are no mask; a condition is written && and ||
// expect-error: the_tensor_holds_floating_point_numbers_which|holds floating-point numbers, which have no bits here
// expect-error: write_a_and_b_for_what_is_not_0|write a && b for what is not 0
#include <locus/expr/bits.hpp>

using namespace locus;

void mistake(const Tensor<float>& x, const Tensor<float>& y) {
#ifdef LOCUS_MUST_FAIL
  (void)(x & y);
#else
  (void)(x && y);
#endif
}
