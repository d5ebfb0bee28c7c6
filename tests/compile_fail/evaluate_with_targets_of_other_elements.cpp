// Evaluating a regression on targets that are class labels.
// expect-error: loss_takes_other_targets_than_the_loader_delivers<.*L1Loss>|the loss takes no targets
// expect-error: convert_them_with_data_map_or_take_another_loss|convert them with data::map
#include <locus/locus.hpp>

using namespace locus;

void mistake(const nn::Linear<float, Cpu>& model,
             data::Loader<data::TensorDataset<float, std::int64_t>, Cpu>& batches) {
#ifdef LOCUS_MUST_FAIL
  (void)evaluate(model, nn::L1Loss{}, batches);
#else
  (void)evaluate(model, batches);
#endif
}
