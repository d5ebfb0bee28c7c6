// Running sums without an axis.
// because: NumPy's are those of all elements, PyTorch has none
// expect-error: no_axis_is_named|along which axis
// expect-error: name_one_as_in_x_1|as in cumsum\(x, 1\)
#include <locus/locus.hpp>

using namespace locus;

auto mistake(const Tensor<float>& x) {
#ifdef LOCUS_MUST_FAIL
  return cumsum(x);
#else
  return cumsum(x.flatten(), 0);
#endif
}
