// A list in place of names.
// group: Arguments
// because: names are arguments of their own
// expect-error(gcc): requires_grad_of_a_layer_takes_true_or_false_then_names, locus::error::say_requires_grad
// expect-error(nvcc): requires_grad_of_a_layer_takes_true_or_false_then_names, locus::error::say_requires_grad
// expect-error(clang): say requires_grad_\(true, \\?"fc\\?"\)
#include <locus/locus.hpp>

using namespace locus;

void mistake(const nn::Sequential<float, Cpu>& model, const std::vector<std::string>& names) {
#ifdef LOCUS_MUST_FAIL
  model.requires_grad_(false, names);
#else
  for (const auto& name : names) model.requires_grad_(false, name);
#endif
}
