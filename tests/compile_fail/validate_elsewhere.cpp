// Validating on batches of another device than the training batches.
// because: the model has one place, in training and in validation
// expect-error: model_is_on<locus::Cuda>.*batches_are_on<locus::Cpu>|the model is on Cuda, the batches are on Cpu
// expect-error: fit.*(make_the_loader_for_the_device_of_the_model|make the loader for the model)
#include <locus/locus.hpp>

using namespace locus;

void mistake(const nn::Sequential<float, Cuda>& model, optim::Sgd<float, Cuda>& optimizer,
             data::Loader<data::LabelledImages, Cuda>& train, const data::LabelledImages& digits, History& history) {
#ifdef LOCUS_MUST_FAIL
  auto valid = data::loader<Cpu>(digits);
  fit(model, optimizer, train, valid, history);
#else
  auto valid = data::loader<Cuda>(digits);
  fit(model, optimizer, train, valid, history);
#endif
}
