// An option that Conv2d lacks.
// group: Options
// because: an option that does not exist is an error, and the message lists those that do
// expect-error(gcc): options_are_stride_padding_dilation_groups_bias_padding_mode_exact
// expect-error(nvcc): options_are_stride_padding_dilation_groups_bias_padding_mode_exact
// expect-error(clang): \{in, out, kernel, options\}; its options, in this order, are \.stride, \.padding,
#include <locus/locus.hpp>

using namespace locus;

auto mistake() {
#ifdef LOCUS_MUST_FAIL
  return nn::Conv2d<float, Cpu>{3, 8, 3, {.pading = 1}};
#else
  return nn::Conv2d<float, Cpu>{3, 8, 3, {.padding = 1}};
#endif
}
