// `x.norm()`
// group: Names of tensors elsewhere
// because: operations are functions, of tensors, traced tensors and expressions alike
// expect-error(gcc): say_norm_x
// expect-error(nvcc): say_norm_x
// expect-error(clang): say norm\(x\)
#include <locus/locus.hpp>

using namespace locus;

auto mistake(const Tensor<float>& x) {
#ifdef LOCUS_MUST_FAIL
  return x.norm();
#else
  return norm(x);
#endif
}
