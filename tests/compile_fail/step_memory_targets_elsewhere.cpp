// Measuring a step of a model on Cuda with labels on Cpu.
// because: the loss computes where the predictions are; PyTorch refuses it when the program runs
// expect-error: input_is_on<locus::Cuda>.*labels_are_on<locus::Cpu>|the input is on Cuda, the targets are on Cpu
// expect-error: step_memory.*(labels_are_on|move the targets with \.to<Cuda>\(\))
#include <locus/locus.hpp>

using namespace locus;

void mistake(const nn::Linear<float, Cuda>& model, optim::Sgd<float, Cuda>& optimizer, const Tensor<float, Cuda>& x,
             const Tensor<std::int64_t, Cpu>& labels) {
#ifdef LOCUS_MUST_FAIL
  (void)step_memory(model, optimizer, nn::CrossEntropyLoss{}, x, labels);
#else
  (void)step_memory(model, optimizer, nn::CrossEntropyLoss{}, x, labels.to<Cuda>());
#endif
}
