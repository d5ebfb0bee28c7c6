// `x.max()`
// group: Names of tensors elsewhere
// because: operations are functions, of tensors, traced tensors and expressions alike
// expect-error(gcc): say_max_x
// expect-error(nvcc): say_max_x
// expect-error(clang): say max\(x\)
#include <locus/locus.hpp>

using namespace locus;

auto mistake(const Tensor<float>& x) {
#ifdef LOCUS_MUST_FAIL
  return x.max();
#else
  return max(x);
#endif
}
