// An option that Adam lacks.
// group: Options
// because: an option that does not exist is an error, and the message lists those that do
// expect-error(gcc): the_options_are_lr_beta1_beta2_eps_weight_decay_amsgrad_maximize
// expect-error(nvcc): the_options_are_lr_beta1_beta2_eps_weight_decay_amsgrad_maximize
// expect-error(clang): its options, in this order, are \.lr, \.beta1, \.beta2, \.eps, \.weight_decay, \.amsgrad
#include <locus/locus.hpp>

using namespace locus;

auto mistake(const nn::Sequential<float, Cpu>& model) {
#ifdef LOCUS_MUST_FAIL
  return optim::Adam{model.parameters(), {.learning_rate = 0.1}};
#else
  return optim::Adam{model.parameters(), {.lr = 0.1}};
#endif
}
