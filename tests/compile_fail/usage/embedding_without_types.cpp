// Embedding without its types.
// group: Types that are not written
// because: numbers alone determine neither the device of a layer nor its element type
// expect-error(gcc): write_its_element_type_and_device
// expect-error(nvcc): write_its_element_type_and_device
// expect-error(clang): write its element type and device, as in nn::Embedding<float, Cpu>
#include <locus/locus.hpp>

using namespace locus;

auto mistake() {
#ifdef LOCUS_MUST_FAIL
  return nn::Embedding{27, 16};
#else
  return nn::Embedding<float, Cpu>{27, 16};
#endif
}
