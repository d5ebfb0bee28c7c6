// A name in place of whether the layer is trained.
// group: Arguments
// because: a text is a true bool in C++, so that all of the model would be trained
// expect-error(gcc): requires_grad_of_a_layer_takes_true_or_false_then_names, locus::error::say_requires_grad
// expect-error(nvcc): requires_grad_of_a_layer_takes_true_or_false_then_names, locus::error::say_requires_grad
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
