// `x.matmul(y)`
// group: Names of tensors elsewhere
// because: operations are functions, of tensors, traced tensors and expressions alike
// expect-error(gcc): say_matmul_x_y
// expect-error(nvcc): say_matmul_x_y
// expect-error(clang): say matmul\(x, y\)
#include <locus/locus.hpp>

using namespace locus;

auto mistake(const Tensor<float>& x) {
#ifdef LOCUS_MUST_FAIL
  return x.matmul(x);
#else
  return matmul(x, x);
#endif
}
