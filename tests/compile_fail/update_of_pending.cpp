// Changing a pending expression in place.
// because: an expression has no memory of its own to change until it is computed
// expect-error: pending
// expect-error: name_it_as_a_Tensor|name it as a Tensor
#include <locus/locus.hpp>

using namespace locus;

void mistake(const Tensor<float>& x) {
#ifdef LOCUS_MUST_FAIL
  auto y = x * 2;
#else
  Tensor y = x * 2;
#endif
  y += 1;
}
