// `x.relu()` of a traced tensor
// group: Names of tensors elsewhere
// because: operations are functions, of tensors, traced tensors and expressions alike
// expect-error(gcc): say_relu_x
// expect-error(nvcc): say_relu_x
// expect-error(clang): say relu\(x\)
#include <locus/locus.hpp>

using namespace locus;

auto mistake(const Traced<float>& x) {
#ifdef LOCUS_MUST_FAIL
  return x.relu();
#else
  return relu(x);
#endif
}
