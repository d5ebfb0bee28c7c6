// `x.size()`
// group: Names of tensors elsewhere
// because: it has another name here
// expect-error(gcc): say_x_elements_or_x_shape
// expect-error(nvcc): say_x_elements_or_x_shape
// expect-error(clang): x\.shape\(\) for all of them
#include <locus/locus.hpp>

using namespace locus;

auto mistake(const Tensor<float>& x) {
#ifdef LOCUS_MUST_FAIL
  return x.size();
#else
  return x.shape();
#endif
}
