// A name in place of whether the layer is trained.
// group: Arguments
// because: a text is a true bool in C++, so that all of the model would be trained
// expect-error(gcc): true_or_false_comes_first_in_requires_grad_, locus::error::say_true_and_fc_to_requires_grad_
// expect-error(nvcc): true_or_false_comes_first_in_requires_grad_, locus::error::say_true_and_fc_to_requires_grad_
// expect-error(clang): say requires_grad_\(true, \\?"fc\\?"\)
#include <locus/locus.hpp>

using namespace locus;

void mistake(const nn::Sequential<float, Cpu>& model) {
#ifdef LOCUS_MUST_FAIL
  model.requires_grad_("fc");
#else
  model.requires_grad_(true, "fc");
#endif
}
