// `x.pow(2)`
// group: Names of tensors elsewhere
// because: operations are functions, of tensors, traced tensors and expressions alike
// expect-error(gcc): say_pow_x_2
// expect-error(nvcc): say_pow_x_2
// expect-error(clang): say pow\(x, 2\)
#include <locus/locus.hpp>

using namespace locus;

auto mistake(const Tensor<float>& x) {
#ifdef LOCUS_MUST_FAIL
  return x.pow(2);
#else
  return pow(x, 2);
#endif
}
