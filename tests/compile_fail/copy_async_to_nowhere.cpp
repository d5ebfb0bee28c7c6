// An asynchronous copy from a GPU without saying where to.
// because: it goes to page-locked memory alone, and a place is always written out
// expect-error: target_is_not_said.*say_copy_async_x_Pinned|copy_async\(x\): x is on Cuda; say copy_async\(x, Pinned
#include <locus/locus.hpp>

using namespace locus;

auto mistake(const Tensor<float, Cuda>& x) {
#ifdef LOCUS_MUST_FAIL
  return copy_async(x);
#else
  return copy_async(x, Pinned{});
#endif
}
