// A step of training by a loss, on a batch of another device.
// because: the batch would have to be copied
// expect-error: model_is_on<locus::Cuda>.*batches_are_on<locus::Cpu>|the model is on Cuda, the batches are on Cpu
// expect-error: make_the_loader_for_the_device_of_the_model|make the loader for the model, data::loader<Cuda>.*data::to<Cuda>\(batch\)
#include <locus/locus.hpp>

using namespace locus;

void mistake(const nn::Linear<float, Cuda>& model, optim::Sgd<float, Cuda>& optimizer, const Tensor<float>& x,
             const Tensor<float>& y) {
  const Tuple batch(x, y);
#ifdef LOCUS_MUST_FAIL
  (void)train_step(model, optimizer, nn::MSELoss{}, batch);
#else
  (void)train_step(model, optimizer, nn::MSELoss{}, data::to<Cuda>(batch));
#endif
}
