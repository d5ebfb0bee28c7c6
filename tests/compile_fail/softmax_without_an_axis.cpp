// Softmax without an axis.
// because: PyTorch asks for it, too: a default would be the classes of one layout and the batch of another
// expect-error: no_axis_is_named|along which axis
// expect-error: name_one_as_in_x_1|as in softmax\(x, 1\)
#include <locus/locus.hpp>

using namespace locus;

auto mistake(const Tensor<float, Cuda>& x) {
#ifdef LOCUS_MUST_FAIL
  return softmax(x);
#else
  return softmax(x, 1);
#endif
}
