// `x.dim()`
// group: Names of tensors elsewhere
// because: it has another name here
// expect-error(gcc): the_number_of_dimensions_is_x_rank
// expect-error(nvcc): the_number_of_dimensions_is_x_rank
// expect-error(clang): is x\.rank\(\)
#include <locus/locus.hpp>

using namespace locus;

auto mistake(const Tensor<float>& x) {
#ifdef LOCUS_MUST_FAIL
  return x.dim();
#else
  return x.rank();
#endif
}
