// Groups of parameters on two devices in one optimizer.
// because: a step updates parameters by gradients and state that lie beside them
// expect-error: optimizer_is_on<locus::Cuda>.*parameters_are_on<locus::Cpu>|is on Cuda, the parameters are on Cpu
// expect-error: make_the_optimizer_for|make the optimizer for the device of the parameters
#include <locus/locus.hpp>

using namespace locus;

void mistake(const nn::Linear<float, Cuda>& body, const nn::Linear<float, Cuda>& head,
             const nn::Linear<float, Cpu>& on_host) {
  const optim::Group large{body.parameters()};
#ifdef LOCUS_MUST_FAIL
  optim::AdamW<float, Cuda> optimizer{{large, optim::Group{on_host.parameters(), {.lr = 0.1}}}};
#else
  optim::AdamW<float, Cuda> optimizer{{large, optim::Group{head.parameters(), {.lr = 0.1}}}};
#endif
}
