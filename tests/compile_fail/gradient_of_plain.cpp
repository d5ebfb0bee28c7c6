// Asking a plain tensor for a gradient.
// because: only a variable or a parameter collects one
// expect-error: grad_of_a_plain_tensor|grad\(\) of a plain tensor
// expect-error: only_a_variable_x_or_a_parameter_collects_one|only a variable\(x\) or a parameter
#include <locus/locus.hpp>

using namespace locus;

void mistake(const Tensor<float>& x) {
#ifdef LOCUS_MUST_FAIL
  (void)x.grad();
#else
  (void)variable(x).grad();
#endif
}
