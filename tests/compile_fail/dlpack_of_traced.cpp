// Another library's view of a traced tensor.
// because: what another library computes is not recorded, and its gradient would be lost
// expect-error: x_collects_gradients|x collects gradients
// expect-error: take_its_value_x_value|take its value, x\.value\(\)
#include <locus/interop/dlpack.hpp>
#include <locus/locus.hpp>

using namespace locus;

auto mistake(const Traced<float, Cuda>& x) {
#ifdef LOCUS_MUST_FAIL
  return to_dlpack(x);
#else
  return to_dlpack(x.value());
#endif
}
