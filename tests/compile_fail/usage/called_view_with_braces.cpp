// `x.view({2, 3})`
// group: Names of tensors elsewhere
// because: it has another name here
// expect-error(gcc): say_x_reshape_2_3
// expect-error(nvcc): say_x_reshape_2_3
// expect-error(clang): say x\.reshape\(\{2, 3\}\)
#include <locus/locus.hpp>

using namespace locus;

auto mistake(const Tensor<float>& x) {
#ifdef LOCUS_MUST_FAIL
  return x.view({2, 3});
#else
  return x.reshape({2, 3});
#endif
}
