// An optimizer on another device than its parameters.
// expect-error(gcc): optimizer_is_on<locus::Cpu>.*parameters_are_on<locus::Cuda>.*make_the_optimizer_for
// expect-error(clang): deleted constructor.*Sgd<float, (locus::)?Cpu>
// compilers: gcc clang
#include <locus/locus.hpp>

using namespace locus;

void mistake(const nn::Linear<float, Cuda>& model) {
#ifdef LOCUS_MUST_FAIL
  optim::Sgd<float, Cpu> optimizer{model.parameters(), {.lr = 0.5}};
#else
  optim::Sgd<float, Cuda> optimizer{model.parameters(), {.lr = 0.5}};
#endif
}
