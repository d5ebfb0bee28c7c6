// PyTorch's betas of Adam.
// group: Options
// because: each has a name of its own
// expect-error(gcc): the_options_are_lr_beta1_beta2_eps_weight_decay_amsgrad_maximize
// expect-error(nvcc): the_options_are_lr_beta1_beta2_eps_weight_decay_amsgrad_maximize
// expect-error(clang): its options, in this order, are \.lr, \.beta1, \.beta2, \.eps, \.weight_decay, \.amsgrad
#include <locus/locus.hpp>

using namespace locus;

auto mistake(const nn::Sequential<float, Cpu>& model) {
#ifdef LOCUS_MUST_FAIL
  return optim::Adam{model.parameters(), {.betas = {0.9, 0.99}}};
#else
  return optim::Adam{model.parameters(), {.beta1 = 0.9, .beta2 = 0.99}};
#endif
}
