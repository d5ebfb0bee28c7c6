// Softmax without an axis.
// because: PyTorch asks for it, too: a default would be the classes of one layout and the batch of another
// expect-error: along_which_axis|along which axis
// expect-error: name_it_as_in_softmax_x_1_or_minus_1_for_the_last|as in softmax\(x, 1\)
#include <locus/locus.hpp>

using namespace locus;

auto mistake(const Tensor<float, Cuda>& x) {
#ifdef LOCUS_MUST_FAIL
  return softmax(x);
#else
  return softmax(x, 1);
#endif
}
