// BatchNorm2d without its types.
// group: Types that are not written
// because: numbers alone determine neither the device of a layer nor its element type
// expect-error(gcc): write_its_element_type_and_device
// expect-error(nvcc): write_its_element_type_and_device
// expect-error(clang): write its element type and device, as in nn::BatchNorm2d<float, Cpu>
#include <locus/locus.hpp>

using namespace locus;

auto mistake() {
#ifdef LOCUS_MUST_FAIL
  return nn::BatchNorm2d{8};
#else
  return nn::BatchNorm2d<float, Cpu>{8};
#endif
}
