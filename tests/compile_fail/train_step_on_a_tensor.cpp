// A step of training on images without labels.
// expect-error: train_step_model_optimizer_batch_on_something_else_than_a_batch|on something else than a batch
// expect-error: take_one_from_a_loader_for_auto_batch_data_loader_D_images|take one from a loader
#include <locus/locus.hpp>

using namespace locus;

void mistake(const nn::Sequential<float, Cpu>& model, optim::Sgd<float, Cpu>& optimizer,
             const data::Batch<float, Cpu>& batch) {
#ifdef LOCUS_MUST_FAIL
  (void)train_step(model, optimizer, batch.images);
#else
  (void)train_step(model, optimizer, batch);
#endif
}
