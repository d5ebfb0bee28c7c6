// `(x + 1).sqrt()`
// group: Names of tensors elsewhere
// because: operations are functions, of tensors, traced tensors and expressions alike
// expect-error(gcc): say_sqrt_x
// expect-error(nvcc): say_sqrt_x
// expect-error(clang): say sqrt\(x\)
#include <locus/locus.hpp>

using namespace locus;

auto mistake(const Tensor<float>& x) {
#ifdef LOCUS_MUST_FAIL
  return (x + 1.f).sqrt();
#else
  return sqrt(x + 1.f);
#endif
}
