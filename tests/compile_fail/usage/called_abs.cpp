// `x.abs()`
// group: Names of tensors elsewhere
// because: operations are functions, of tensors, traced tensors and expressions alike
// expect-error(gcc): say_abs_x
// expect-error(nvcc): say_abs_x
// expect-error(clang): say abs\(x\)
#include <locus/locus.hpp>

using namespace locus;

auto mistake(const Tensor<float>& x) {
#ifdef LOCUS_MUST_FAIL
  return x.abs();
#else
  return abs(x);
#endif
}
