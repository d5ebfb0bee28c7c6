// A text in place of whether the parameter is trained.
// group: Arguments
// because: a text is a true bool in C++
// expect-error(gcc): true_or_false_is_the_argument_of_requires_grad_
// expect-error(nvcc): true_or_false_is_the_argument_of_requires_grad_
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
