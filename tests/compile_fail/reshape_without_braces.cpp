// A new shape without braces.
// because: a shape is one argument everywhere
// expect-error: a_shape_is_one_argument|a shape is one argument
// expect-error: write_it_in_braces_as_in_x_reshape_2_3|write it in braces, as in x\.reshape\(\{2, 3\}\)
#include <locus/locus.hpp>

using namespace locus;

auto mistake(const Traced<float>& x) {
#ifdef LOCUS_MUST_FAIL
  return x.reshape(2, -1);
#else
  return x.reshape({2, -1});
#endif
}
