// PyTorch's `x.sum()`.
// because: every operation is a function, for tensors, traced tensors and expressions alike
// expect-error: reductions_are_functions.*say_sum_x_or_sum_x_axis|say sum\(x\), or sum\(x, axis\)
#include <locus/locus.hpp>

using namespace locus;

auto mistake(const Tensor<float>& x) {
#ifdef LOCUS_MUST_FAIL
  return x.sum();
#else
  return sum(x);
#endif
}
