// NumPy's `x.copy()`
// group: Names of tensors elsewhere
// because: it has another name here
// expect-error(gcc): say_x_clone
// expect-error(nvcc): say_x_clone
// expect-error(clang): say x\.clone\(\)
#include <locus/locus.hpp>

using namespace locus;

auto mistake(const Tensor<float>& x) {
#ifdef LOCUS_MUST_FAIL
  return x.copy();
#else
  return x.clone();
#endif
}
