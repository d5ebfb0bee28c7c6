// The logarithm of softmax without an axis, of a traced tensor.
// because: PyTorch asks for it, too: a default would be the classes of one layout and the batch of another
// expect-error: along_which_axis|along which axis
// expect-error: name_it_as_in_log_softmax_x_1_or_minus_1_for_the_last|as in log_softmax\(x, 1\)
#include <locus/locus.hpp>

using namespace locus;

auto mistake(const Traced<float>& x) {
#ifdef LOCUS_MUST_FAIL
  return log_softmax(x);
#else
  return log_softmax(x, -1);
#endif
}
