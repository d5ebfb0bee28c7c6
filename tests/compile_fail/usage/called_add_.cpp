// `x.add_(y)`
// group: Names of tensors elsewhere
// because: it has another name here
// expect-error(gcc): say_x_plus_equals_y
// expect-error(nvcc): say_x_plus_equals_y
// expect-error(clang): say x \+= y
#include <locus/locus.hpp>

using namespace locus;

auto mistake(const Tensor<float>& x) {
#ifdef LOCUS_MUST_FAIL
  return x.add_(x);
#else
  return x += x;
#endif
}
