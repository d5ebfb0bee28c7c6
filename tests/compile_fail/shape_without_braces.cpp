// A shape without braces, as in PyTorch.
// because: a shape is one argument, so that a later argument, such as a device, is no extent
// expect-error: a_shape_is_one_argument|a shape is one argument
// expect-error: write_it_in_braces_as_in_zeros_2_3|write it in braces, as in zeros\(\{2, 3\}\)
#include <locus/locus.hpp>

using namespace locus;

auto mistake() {
#ifdef LOCUS_MUST_FAIL
  return zeros<double>(2, 3);
#else
  return zeros<double>({2, 3});
#endif
}
