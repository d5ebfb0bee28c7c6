// A shape without braces, and a value.
// because: which of the numbers are extents, and which is the value?
// expect-error: a_shape_without_braces|a shape is one argument
// expect-error: write_it_in_braces_as_in_2_3|write it in braces, as in full\(\{2, 3\}, value\)
#include <locus/locus.hpp>

using namespace locus;

auto mistake() {
#ifdef LOCUS_MUST_FAIL
  return full(2, 3, 0.5f);
#else
  return full({2, 3}, 0.5f);
#endif
}
