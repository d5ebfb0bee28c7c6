// Running sums without an axis.
// because: NumPy's run over all elements, PyTorch has none
// expect-error: along_which_axis|along which axis
// expect-error: name_it_as_in_cumsum_x_1_or_minus_1_for_the_last|as in cumsum\(x, 1\)
#include <locus/locus.hpp>

using namespace locus;

auto mistake(const Tensor<float>& x) {
#ifdef LOCUS_MUST_FAIL
  return cumsum(x);
#else
  return cumsum(x.flatten(), 0);
#endif
}
