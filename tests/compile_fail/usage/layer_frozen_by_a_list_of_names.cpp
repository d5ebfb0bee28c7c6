// A list in place of names.
// group: Arguments
// because: names are arguments of their own
// expect-error(gcc): true_or_false_comes_first_in_requires_grad_, locus::error::say_true_and_fc_to_requires_grad_
// expect-error(nvcc): true_or_false_comes_first_in_requires_grad_, locus::error::say_true_and_fc_to_requires_grad_
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
