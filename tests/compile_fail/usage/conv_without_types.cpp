// Conv2d without its types.
// group: Types that are not written
// because: numbers alone determine neither the device of a layer nor its element type
// expect-error(gcc): write_its_element_type_and_device
// expect-error(nvcc): write_its_element_type_and_device
// expect-error(clang): write its element type and device, as in nn::Conv2d<float, Cpu>
#include <locus/locus.hpp>

using namespace locus;

auto mistake() {
#ifdef LOCUS_MUST_FAIL
  return nn::Conv2d{3, 8, 3, {.padding = 1}};
#else
  return nn::Conv2d<float, Cpu>{3, 8, 3, {.padding = 1}};
#endif
}
