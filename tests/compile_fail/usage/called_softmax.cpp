// `x.softmax(1)`
// group: Names of tensors elsewhere
// because: operations are functions, of tensors, traced tensors and expressions alike
// expect-error(gcc): say_softmax_x_axis
// expect-error(nvcc): say_softmax_x_axis
// expect-error(clang): say softmax\(x, axis\)
#include <locus/locus.hpp>

using namespace locus;

auto mistake(const Tensor<float>& x) {
#ifdef LOCUS_MUST_FAIL
  return x.softmax(1);
#else
  return softmax(x, 1);
#endif
}
