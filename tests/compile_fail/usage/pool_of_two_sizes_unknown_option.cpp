// The stride of a pool with two sizes as an option.
// group: Options
// because: as in PyTorch, the stride follows the kernel
// expect-error(gcc): options_are_ceil_mode_count_include_pad_divisor_override
// expect-error(nvcc): options_are_ceil_mode_count_include_pad_divisor_override
// expect-error(clang): \{kernel, stride, padding, options\}
#include <locus/locus.hpp>

using namespace locus;

auto mistake() {
#ifdef LOCUS_MUST_FAIL
  return nn::AvgPool2d{{3, 2}, {.strides = 2}};
#else
  return nn::AvgPool2d{{3, 2}, 2};
#endif
}
