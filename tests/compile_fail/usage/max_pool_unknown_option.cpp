// The stride of a pool as an option.
// group: Options
// because: as in PyTorch, the stride follows the kernel
// expect-error(gcc): options_are_dilation_ceil_mode
// expect-error(nvcc): options_are_dilation_ceil_mode
// expect-error(clang): \{kernel, stride, padding, options\}
#include <locus/locus.hpp>

using namespace locus;

auto mistake() {
#ifdef LOCUS_MUST_FAIL
  return nn::MaxPool2d{2, {.strides = 2}};
#else
  return nn::MaxPool2d{2, 2};
#endif
}
