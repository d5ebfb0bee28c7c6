// An optimizer that holds parameters of another device than the model in training.
// because: it would step, and the model never change: PyTorch trains on without a word
// expect-error: model_is_on<locus::Cuda>.*optimizer_is_on<locus::Cpu>|the model is on Cuda, the optimizer is on Cpu
// expect-error: make_the_optimizer_for_the_model|make the optimizer of model.parameters\(\)
#include <locus/locus.hpp>

using namespace locus;

void mistake(const nn::Sequential<float, Cuda>& model, const nn::Sequential<float, Cpu>& copy_on_host,
             data::Loader<data::LabelledImages, Cuda>& train, History& history) {
#ifdef LOCUS_MUST_FAIL
  optim::Sgd<float, Cpu> optimizer(copy_on_host.parameters(), {.lr = 0.1});
  fit(model, optimizer, train, train, history);
#else
  optim::Sgd<float, Cuda> optimizer(model.parameters(), {.lr = 0.1});
  fit(model, optimizer, train, train, history);
#endif
}
