// A step of gradient descent on a variable itself.
// because: changing a variable in place would invalidate the computations recorded with it
// expect-error: traced
// expect-error: change_its_value_x_value|change its value, x\.value\(\)
#include <locus/locus.hpp>

using namespace locus;

void mistake() {
  const auto w = variable(ones({3}));
  sum(w * w).backward();
#ifdef LOCUS_MUST_FAIL
  w -= 0.1f * w.grad();
#else
  w.value() -= 0.1f * w.grad();
#endif
}
