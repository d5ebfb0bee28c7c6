// An asynchronous copy of a traced tensor.
// because: a transfer is not recorded, so the gradient would be lost
// expect-error: x_records_gradients_which_would_be_lost|records gradients
// expect-error: take_its_value_x_value|take its value, x.value
#include <locus/locus.hpp>

using namespace locus;

auto mistake(const Traced<float, Cuda>& loss) {
#ifdef LOCUS_MUST_FAIL
  return copy_async(loss, Pinned{});
#else
  return copy_async(loss.value(), Pinned{});
#endif
}
