// A shape without braces, and a device.
// because: the device is no extent
// expect-error: a_shape_is_one_argument|a shape is one argument
// expect-error: write_it_in_braces_as_in_ones_2_3|write it in braces, as in ones\(\{2, 3\}\)
#include <locus/locus.hpp>

using namespace locus;

auto mistake() {
#ifdef LOCUS_MUST_FAIL
  return ones<float>(2, 3, Cuda{1});
#else
  return ones<float>({2, 3}, Cuda{1});
#endif
}
