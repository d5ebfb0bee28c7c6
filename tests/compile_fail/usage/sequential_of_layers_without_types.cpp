// A network of layers without their types.
// group: Types that are not written
// because: a network lives where its layers live
// expect-error(gcc): write_its_element_type_and_device
// expect-error(nvcc): write_its_element_type_and_device
// expect-error(clang): write its element type and device, as in nn::Linear<float, Cpu>
#include <locus/locus.hpp>

using namespace locus;

auto mistake() {
#ifdef LOCUS_MUST_FAIL
  return nn::Sequential{nn::Linear{784, 10}, nn::ReLU{}};
#else
  return nn::Sequential{nn::Linear<float, Cpu>{784, 10}, nn::ReLU{}};
#endif
}
