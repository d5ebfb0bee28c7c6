// An order of dimensions without braces.
// because: a list of axes is one argument everywhere
// expect-error: the_order_is_one_argument|the order is one argument
// expect-error: write_it_in_braces_as_in_x_permute_1_0|write it in braces, as in x\.permute\(\{1, 0\}\)
#include <locus/locus.hpp>

using namespace locus;

auto mistake(const Tensor<float>& x) {
#ifdef LOCUS_MUST_FAIL
  return (x * x).permute(1, 0);
#else
  return (x * x).permute({1, 0});
#endif
}
