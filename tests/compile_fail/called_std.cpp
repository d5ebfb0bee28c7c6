// PyTorch's `x.std(0)`.
// because: every operation is a function, and the standard deviation is called stddev
// expect-error: reductions_are_functions.*say_stddev_x_axis|say stddev\(x, axis\)
#include <locus/locus.hpp>

using namespace locus;

auto mistake(const Traced<float>& x) {
#ifdef LOCUS_MUST_FAIL
  return x.std(0);
#else
  return stddev(x, 0);
#endif
}
