// One training step on a batch of another device.
// because: the first layer could not read it
// expect-error: model_is_on<locus::Cuda>.*batches_are_on<locus::Cpu>|the model is on Cuda, the batches are on Cpu
// expect-error: train_step.*(make_the_loader_for_the_device_of_the_model|make the loader for the model)
#include <locus/locus.hpp>

using namespace locus;

void mistake(const nn::Sequential<float, Cuda>& model, optim::Sgd<float, Cuda>& optimizer,
             const data::LabelledImages& digits) {
#ifdef LOCUS_MUST_FAIL
  for (const auto& batch : data::loader<Cpu>(digits)) train_step(model, optimizer, batch);
#else
  for (const auto& batch : data::loader<Cuda>(digits)) train_step(model, optimizer, batch);
#endif
}
