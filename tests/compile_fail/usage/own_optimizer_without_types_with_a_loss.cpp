// The same, with a loss.
// group: Types that are not written
// because: the state of training is made for them: docs/optimizers.md has an optimizer of yours as a program
// expect-error(gcc): give_it_value_type_device_type_parameters_zero_grad_step_and_lr_as_in_docs_optimizers_md
// expect-error(nvcc): give_it_value_type_device_type_parameters_zero_grad_step_and_lr_as_in_docs_optimizers_md
// expect-error(clang): give it value_type, device_type, parameters\(\), zero_grad\(\), step\(\) and lr\(\)
#include <locus/locus.hpp>

using namespace locus;

struct Optimizer {
  std::vector<Parameter<float>> weights;
#ifndef LOCUS_MUST_FAIL
  using value_type = float;
  using device_type = Cpu;
#endif
  const std::vector<Parameter<float>>& parameters() const { return weights; }
  void zero_grad() {}
  void step() {}
  double lr() const { return 0.1; }
};

void mistake(const nn::Sequential<float, Cpu>& model, Optimizer& optimizer,
             data::Loader<data::LabelledImages, Cpu>& train, History& history) {
  fit(model, optimizer, nn::CrossEntropyLoss{}, train, train, history);
}
