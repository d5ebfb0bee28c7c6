// An asynchronous copy from a GPU in a stream, without saying where to.
// because: it goes to page-locked memory alone, and a place is always written out
// expect-error: x_is_on_Cuda.*say_copy_async_x_Pinned_stream_the_only_place|say copy_async\(x, Pinned\{\}, stream\)
#include <locus/locus.hpp>

using namespace locus;

auto mistake(const Tensor<float, Cuda>& x, const Stream<Cuda>& copies) {
#ifdef LOCUS_MUST_FAIL
  return copy_async(x, copies);
#else
  return copy_async(x, Pinned{}, copies);
#endif
}
