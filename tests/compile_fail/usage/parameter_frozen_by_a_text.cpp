// A text in place of whether the parameter is trained.
// group: Arguments
// because: a text is a true bool in C++
// expect-error(gcc): requires_grad_of_a_parameter_takes_true_or_false
// expect-error(nvcc): requires_grad_of_a_parameter_takes_true_or_false
// expect-error(clang): say requires_grad_\(false\), or \(true\)
#include <locus/locus.hpp>

using namespace locus;

void mistake(const Parameter<float>& parameter) {
#ifdef LOCUS_MUST_FAIL
  parameter.requires_grad_("false");
#else
  parameter.requires_grad_(false);
#endif
}
