// An optimizer on another device than its parameters.
// because: a step updates parameters by gradients and state that lie beside them
// expect-error: optimizer_is_on<locus::Cpu>.*parameters_are_on<locus::Cuda>|is on Cpu, the parameters are on Cuda
// expect-error: make_the_optimizer_for|make the optimizer for the device of the parameters
#include <locus/locus.hpp>

using namespace locus;

void mistake(const nn::Linear<float, Cuda>& model) {
#ifdef LOCUS_MUST_FAIL
  optim::Sgd<float, Cpu> optimizer{model.parameters(), {.lr = 0.5}};
#else
  optim::Sgd<float, Cuda> optimizer{model.parameters(), {.lr = 0.5}};
#endif
}
