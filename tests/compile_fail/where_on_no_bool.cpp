// A condition that holds numbers.
// because: which numbers count as true would be a guess
// expect-error: condition_holds<float>|the condition holds no bool
// expect-error: compare_first_as_in_x_greater_0|compare first, as in x > 0
#include <locus/locus.hpp>

using namespace locus;

void mistake(const Tensor<float>& x) {
#ifdef LOCUS_MUST_FAIL
  (void)where(x, x, 0.f);
#else
  (void)where(x > 0.f, x, 0.f);
#endif
}
