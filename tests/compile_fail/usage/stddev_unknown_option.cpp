// PyTorch's unbiased.
// group: Options
// because: it is a correction of 1
// expect-error(gcc): say_stddev_x_axes_correction_1_keepdim_true
// expect-error(nvcc): say_stddev_x_axes_correction_1_keepdim_true
// expect-error(clang): say stddev\(x, axes, {\.correction = 1, \.keepdim = true}\)
#include <locus/locus.hpp>

using namespace locus;

auto mistake(const Tensor<float>& x) {
#ifdef LOCUS_MUST_FAIL
  return stddev(x, 0, {.unbiased = true});
#else
  return stddev(x, 0, {.correction = 1});
#endif
}
