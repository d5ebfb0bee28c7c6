// Writing a result into a buffer: its gradient would not come back from there.
// because: a buffer has no way back for the gradient of a value written into it
// expect-error: source_records_gradients|the source records gradients
// expect-error: take_its_value_x_value|take its value, x\.value\(\)
#include <locus/locus.hpp>

using namespace locus;

void mistake() {
  const auto w = variable(ones({3}));
  const Tensor<float> buffer = zeros({3});
#ifdef LOCUS_MUST_FAIL
  buffer.copy_(w * 2.f);
#else
  buffer.copy_(w.value() * 2.f);
#endif
}
