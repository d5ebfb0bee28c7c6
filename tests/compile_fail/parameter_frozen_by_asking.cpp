// Freezing a parameter by the function that asks whether it is frozen.
// because: PyTorch has an attribute, requires_grad, and a function that sets it, requires_grad_
// expect-error: requires_grad_asks|requires_grad\(\) asks
// expect-error: to_freeze_or_train_the_parameter_say_requires_grad_false_or_true|say requires_grad_\(false\)
#include <locus/locus.hpp>

using namespace locus;

void mistake(const Parameter<float>& parameter) {
#ifdef LOCUS_MUST_FAIL
  parameter.requires_grad(false);
#else
  parameter.requires_grad_(false);
#endif
}
