// `x.requires_grad_()`
// group: Names of tensors elsewhere
// because: a tensor whose gradient is collected is another type
// expect-error(gcc): say_variable_x
// expect-error(nvcc): say_variable_x
// expect-error(clang): say variable\(x\)
#include <locus/locus.hpp>

using namespace locus;

auto mistake(const Tensor<float>& x) {
#ifdef LOCUS_MUST_FAIL
  return x.requires_grad_();
#else
  return variable(x);
#endif
}
