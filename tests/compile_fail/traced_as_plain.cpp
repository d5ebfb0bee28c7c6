// A traced tensor where a plain one is expected.
// because: its gradient would be lost silently
// expect-error: source_records_gradients|the source records gradients, which would be lost
// expect-error: take_its_value_x_value|take its value, x\.value\(\)
#include <locus/locus.hpp>

using namespace locus;

void mistake(const Traced<float>& x) {
#ifdef LOCUS_MUST_FAIL
  Tensor<float> y = x;
#else
  Tensor<float> y = x.value();
#endif
}
