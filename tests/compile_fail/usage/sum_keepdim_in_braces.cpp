// Kept axes as an option.
// group: Options
// because: sum has one flag, and so no options
// expect-error(gcc): say_x_or_x_axis_or_x_axes_in_braces_and_true
// expect-error(nvcc): say_x_or_x_axis_or_x_axes_in_braces_and_true
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
