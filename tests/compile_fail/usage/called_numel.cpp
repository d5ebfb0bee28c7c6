// `x.numel()`
// group: Names of tensors elsewhere
// because: it has another name here
// expect-error(gcc): the_number_of_elements_is_x_elements
// expect-error(nvcc): the_number_of_elements_is_x_elements
// expect-error(clang): is x\.elements\(\)
#include <locus/locus.hpp>

using namespace locus;

auto mistake(const Tensor<float>& x) {
#ifdef LOCUS_MUST_FAIL
  return x.numel();
#else
  return x.elements();
#endif
}
