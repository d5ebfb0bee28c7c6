// A summary of a model on Cuda with an input on Cpu.
// because: the model is called once where it is; torchinfo moves the input without saying so
// expect-error: model_is_on<locus::Cuda>.*input_is_on<locus::Cpu>|the model is on Cuda, the input is on Cpu
// expect-error: summary.*(move_the_input_with_to_D|move the input with \.to<Cuda>\(\))
#include <locus/locus.hpp>

using namespace locus;

void mistake(const nn::Linear<float, Cuda>& model, const Tensor<float, Cpu>& x) {
#ifdef LOCUS_MUST_FAIL
  (void)nn::summary(model, x);
#else
  (void)nn::summary(model, x.to<Cuda>());
#endif
}
