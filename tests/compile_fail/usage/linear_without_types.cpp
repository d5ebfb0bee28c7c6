// Linear without its types.
// group: Types that are not written
// because: numbers alone determine neither the device of a layer nor its element type
// expect-error(gcc): write_its_element_type_and_device
// expect-error(nvcc): write_its_element_type_and_device
// expect-error(clang): write its element type and device, as in nn::Linear<float, Cpu>
#include <locus/locus.hpp>

using namespace locus;

auto mistake() {
#ifdef LOCUS_MUST_FAIL
  return nn::Linear{784, 10};
#else
  return nn::Linear<float, Cpu>{784, 10};
#endif
}
