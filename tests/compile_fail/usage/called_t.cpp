// `x.t()`
// group: Names of tensors elsewhere
// because: it has another name here
// expect-error(gcc): two_dimensions_are_exchanged_by_x_transpose
// expect-error(nvcc): two_dimensions_are_exchanged_by_x_transpose
// expect-error(clang): exchanged by x\.transpose\(\)
#include <locus/locus.hpp>

using namespace locus;

auto mistake(const Tensor<float>& x) {
#ifdef LOCUS_MUST_FAIL
  return x.t();
#else
  return x.transpose();
#endif
}
