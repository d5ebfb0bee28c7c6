// Adding a traced tensor in place.
// because: a buffer has no way back for the gradient of a value written into it
// expect-error: the_operand_is_traced_and_its_gradient_would_be|the operand is traced, and its gradient would be lost
// expect-error: take_its_value_x_value|take its value, x\.value\(\)
#include <locus/locus.hpp>

using namespace locus;

void mistake(const Tensor<float>& sum, const Traced<float>& x) {
#ifdef LOCUS_MUST_FAIL
  sum += x;
#else
  sum += x.value();
#endif
}
