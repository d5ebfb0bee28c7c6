// Kept axes as an option.
// group: Options
// because: sum has one flag, and so no options
// expect-error(gcc): say_sum_x_sum_x_0_or_sum_x_0_1_true_where_true_keeps_the_axes_with_extent_1
// expect-error(nvcc): say_sum_x_sum_x_0_or_sum_x_0_1_true_where_true_keeps_the_axes_with_extent_1
// expect-error(clang): say sum\(x\), sum\(x, 0\)
#include <locus/locus.hpp>

using namespace locus;

auto mistake(const Tensor<float>& x) {
#ifdef LOCUS_MUST_FAIL
  return sum(x, 0, {.keepdim = true});
#else
  return sum(x, 0, true);
#endif
}
