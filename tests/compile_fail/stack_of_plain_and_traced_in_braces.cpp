// A list in braces of a traced tensor and a plain one.
// because: a list in braces has one type
// expect-error: a_list_of_different_types|a list in braces has one type
// expect-error: write_the_axis_first_without_braces_as_in_concat_0_x_y|as in concat\(0, x, y\)
#include <locus/locus.hpp>

using namespace locus;

auto mistake(const Traced<float>& x, const Tensor<float>& y) {
#ifdef LOCUS_MUST_FAIL
  return stack({x, y});
#else
  return stack(0, x, y);
#endif
}
