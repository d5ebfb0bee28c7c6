// Training with a loss, on batches of another device.
// because: every batch would have to be copied again inside the loop
// expect-error: model_is_on<locus::Cuda>.*batches_are_on<locus::Cpu>|the model is on Cuda, the batches are on Cpu
// expect-error: make_the_loader_for_the_device_of_the_model|make the loader for the model, data::loader<Cuda>
#include <locus/locus.hpp>

using namespace locus;

void mistake(const nn::Linear<float, Cuda>& model, optim::Sgd<float, Cuda>& optimizer,
             const data::TensorDataset<float, float>& table, History& history) {
#ifdef LOCUS_MUST_FAIL
  auto train = data::loader<Cpu>(table);
#else
  auto train = data::loader<Cuda>(table);
#endif
  fit(model, optimizer, nn::MSELoss{}, train, train, history);
}
