// A step of training on images without labels.
// expect-error: train_step_on_something_else_than_a_batch|on something else than a batch
// expect-error: take_it_from_a_loader_in_a_range_for|take one from a loader
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
