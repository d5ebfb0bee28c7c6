// An option of another type.
// group: Options
// because: options are numbers
// expect-error(gcc): the_options_are_lr_beta1_beta2_eps_weight_decay_amsgrad_maximize
// expect-error(nvcc): the_options_are_lr_beta1_beta2_eps_weight_decay_amsgrad_maximize
// expect-error(clang): its options, in this order, are \.lr, \.beta1, \.beta2, \.eps, \.weight_decay, \.amsgrad
#include <locus/locus.hpp>

using namespace locus;

auto mistake(const nn::Sequential<float, Cpu>& model) {
#ifdef LOCUS_MUST_FAIL
  return optim::Adam{model.parameters(), {.lr = "fast"}};
#else
  return optim::Adam{model.parameters(), {.lr = 0.1}};
#endif
}
