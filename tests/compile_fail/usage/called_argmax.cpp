// `x.argmax()`
// group: Names of tensors elsewhere
// because: operations are functions, of tensors, traced tensors and expressions alike
// expect-error(gcc): say_argmax_x
// expect-error(nvcc): say_argmax_x
// expect-error(clang): say argmax\(x\)
#include <locus/locus.hpp>

using namespace locus;

auto mistake(const Tensor<float>& x) {
#ifdef LOCUS_MUST_FAIL
  return x.argmax();
#else
  return argmax(x);
#endif
}
