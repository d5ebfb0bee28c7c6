// A mask of numbers.
// because: which elements are filled is a condition
// expect-error(gcc): condition_holds<float>, .*compare_first_as_in_x_greater_0
// expect-error(clang): masked_fill\(x, mask, value\): the condition holds no bool; compare first, as in x > 0
// expect-error(nvcc): condition_holds<float>, .*compare_first_as_in_x_greater_0
#include <locus/locus.hpp>

using namespace locus;

Tensor<float, Cuda> mistake(const Tensor<float, Cuda>& x, const Tensor<float, Cuda>& mask) {
#ifdef LOCUS_MUST_FAIL
  return masked_fill(x, mask, 0);
#else
  return masked_fill(x, mask > 0, 0);
#endif
}
