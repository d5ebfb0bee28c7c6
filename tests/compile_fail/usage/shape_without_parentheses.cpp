// `x.shape[0]`
// group: Names of tensors elsewhere
// because: the shape is computed by a function, as is all that a tensor says
// expect-error(gcc): array subscript
// expect-error(nvcc): may only be used to call the function
// expect-error(clang): must be called
#include <locus/locus.hpp>

using namespace locus;

auto mistake(const Tensor<float>& x) {
#ifdef LOCUS_MUST_FAIL
  return x.shape[0];
#else
  return x.shape()[0];
#endif
}
