// The logarithm of softmax without an axis, of a traced tensor.
// because: PyTorch asks for it, too: a default would be the classes of one layout and the batch of another
// expect-error: no_axis_is_named|along which axis
// expect-error: name_one_as_in_x_1|as in log_softmax\(x, 1\)
#include <locus/locus.hpp>

using namespace locus;

auto mistake(const Traced<float>& x) {
#ifdef LOCUS_MUST_FAIL
  return log_softmax(x);
#else
  return log_softmax(x, -1);
#endif
}
