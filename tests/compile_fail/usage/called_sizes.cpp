// `x.sizes()`
// group: Names of tensors elsewhere
// because: it has another name here
// expect-error(gcc): the_extents_are_x_shape
// expect-error(nvcc): the_extents_are_x_shape
// expect-error(clang): are x\.shape\(\)
#include <locus/locus.hpp>

using namespace locus;

auto mistake(const Tensor<float>& x) {
#ifdef LOCUS_MUST_FAIL
  return x.sizes();
#else
  return x.shape();
#endif
}
