// PyTorch's `x.mean()`.
// because: every operation is a function, for tensors, traced tensors and expressions alike
// expect-error: reductions_are_functions.*say_mean_x_or_mean_x_axis|say mean\(x\), or mean\(x, axis\)
#include <locus/locus.hpp>

using namespace locus;

auto mistake(const Traced<float>& x) {
#ifdef LOCUS_MUST_FAIL
  return x.mean(0);
#else
  return mean(x, 0);
#endif
}
