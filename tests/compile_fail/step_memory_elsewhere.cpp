// Measuring a step of a model on Cuda with inputs on Cpu.
// because: the step runs where the model is; PyTorch refuses the first product when the program runs
// expect-error: model_is_on<locus::Cuda>.*input_is_on<locus::Cpu>|the model is on Cuda, the input is on Cpu
// expect-error: step_memory.*(move_the_input_with_to_D|move the input with \.to<Cuda>\(\))
#include <locus/locus.hpp>

using namespace locus;

void mistake(const nn::Linear<float, Cuda>& model, optim::Sgd<float, Cuda>& optimizer, const Tensor<float, Cpu>& x) {
#ifdef LOCUS_MUST_FAIL
  (void)step_memory(model, optimizer, nn::MSELoss{}, x);
#else
  (void)step_memory(model, optimizer, nn::MSELoss{}, x.to<Cuda>());
#endif
}
