// Eigen's `x.rows()`
// group: Names of tensors elsewhere
// because: it has another name here
// expect-error(gcc): an_extent_is_x_size_0
// expect-error(nvcc): an_extent_is_x_size_0
// expect-error(clang): is x\.size\(0\)
#include <locus/locus.hpp>

using namespace locus;

auto mistake(const Tensor<float>& x) {
#ifdef LOCUS_MUST_FAIL
  return x.rows();
#else
  return x.size(0);
#endif
}
