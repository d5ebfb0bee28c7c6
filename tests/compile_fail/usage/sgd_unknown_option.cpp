// An option that Sgd lacks, whose types are written.
// group: Options
// because: an option that does not exist is an error, and the message lists those that do
// expect-error(gcc): the_options_are_lr_momentum_dampening_weight_decay_nesterov_maximize
// expect-error(nvcc): the_options_are_lr_momentum_dampening_weight_decay_nesterov_maximize
// expect-error(clang): are \.lr, \.momentum, \.dampening, \.weight_decay, \.nesterov
#include <locus/locus.hpp>

using namespace locus;

auto mistake(const nn::Sequential<float, Cpu>& model) {
#ifdef LOCUS_MUST_FAIL
  return optim::Sgd<float, Cpu>{model.parameters(), {.learning_rate = 0.1}};
#else
  return optim::Sgd<float, Cpu>{model.parameters(), {.lr = 0.1}};
#endif
}
