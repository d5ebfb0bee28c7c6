// An asynchronous copy from a GPU without saying where to.
// because: it goes to page-locked memory alone, and a place is always written out
// expect-error: x_is_on_Cuda.*say_copy_async_x_Pinned_the_only_place_it_is|x is on Cuda; say copy_async\(x, Pinned
#include <locus/locus.hpp>

using namespace locus;

auto mistake(const Tensor<float, Cuda>& x) {
#ifdef LOCUS_MUST_FAIL
  return copy_async(x);
#else
  return copy_async(x, Pinned{});
#endif
}
