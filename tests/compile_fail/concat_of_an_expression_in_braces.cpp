// A list in braces of a tensor and an expression.
// because: a list in braces has one type, and an expression that is not computed yet has its own
// expect-error: a_list_of_different_types|a list in braces has one type
// expect-error: write_the_axis_first_without_braces_as_in_concat_0_x_y|as in concat\(0, x, y\)
#include <locus/locus.hpp>

using namespace locus;

auto mistake(const Tensor<float>& x) {
#ifdef LOCUS_MUST_FAIL
  return concat({x, x * x});
#else
  return concat(0, x, x * x);
#endif
}
