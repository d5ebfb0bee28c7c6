// A step of training a regression on class labels.
// because: there is no implicit promotion; cross-entropy takes labels, a regression numbers
// expect-error: loss_takes_other_targets_than_the_batch_holds<.*MSELoss>|the loss takes no targets
// expect-error: convert_them_with_data_map_or_take_another_loss|convert them with data::map
#include <locus/locus.hpp>

using namespace locus;

void mistake(const nn::Linear<float, Cpu>& model, optim::Sgd<float, Cpu>& optimizer,
             const data::Batch<float, Cpu>& batch) {
#ifdef LOCUS_MUST_FAIL
  (void)train_step(model, optimizer, nn::MSELoss{}, batch);
#else
  (void)train_step(model, optimizer, nn::CrossEntropyLoss{}, batch);
#endif
}
