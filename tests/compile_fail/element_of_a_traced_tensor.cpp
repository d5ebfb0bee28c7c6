// Reading an element of a traced tensor.
// because: computations with the number would not be recorded
// expect-error: reading_an_element|traced tensors and parameters give theirs through their value
// expect-error: traced_tensors_and_parameters_give_theirs_through_their_value_x_value|x\.value\(\)
#include <locus/locus.hpp>

using namespace locus;

void mistake(const Traced<float>& x) {
#ifdef LOCUS_MUST_FAIL
  (void)x(0);
#else
  (void)x.value()(0);
#endif
}
