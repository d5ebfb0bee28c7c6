// A learning rate as an argument.
// because: an optimizer has several options, and each is named
// expect-error: options_are_named.*say_lr_in_braces|options have names; say \{\.lr = 0\.001\}
#include <locus/locus.hpp>

using namespace locus;

void mistake(const nn::Linear<float, Cuda>& model) {
#ifdef LOCUS_MUST_FAIL
  optim::Adam optimizer{model.parameters(), 0.002};
#else
  optim::Adam optimizer{model.parameters(), {.lr = 0.002}};
#endif
  optimizer.step();
}
