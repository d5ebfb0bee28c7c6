// What another library calls `x.std(0)`.
// because: every operation is a function, and the standard deviation is the root of another
// expect-error: reductions_are_functions.*say_sqrt_var_x_axis|say sqrt\(var\(x, axis\)\)
#include <locus/locus.hpp>

using namespace locus;

auto mistake(const Traced<float>& x) {
#ifdef LOCUS_MUST_FAIL
  return x.std(0);
#else
  return sqrt(var(x, 0));
#endif
}
