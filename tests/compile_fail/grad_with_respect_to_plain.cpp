// The gradient with respect to a plain tensor.
// because: gradients are collected for variables and parameters alone
// expect-error: x_collects_no_gradient|x collects no gradient
// expect-error: make_it_a_variable_x|make it a variable\(x\)
#include <locus/locus.hpp>

using namespace locus;

void mistake(const Tensor<float, Cuda>& x, const Parameter<float, Cuda>& w) {
#ifdef LOCUS_MUST_FAIL
  (void)grad(sum(trace(x) * w), x);
#else
  const auto input = variable(x);
  (void)grad(sum(input * w), input);
#endif
}
