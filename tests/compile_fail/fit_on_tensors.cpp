// Training on tensors in place of batches.
// because: fit goes over batches of images and labels, epoch by epoch
// expect-error: fit_model_optimizer_train_valid_history_with_something_else_than|with something else than loaders
// expect-error: make_one_first_auto_train_data_loader_D_dataset_options|make one first, auto train =
#include <locus/locus.hpp>

using namespace locus;

void mistake(const nn::Sequential<float, Cpu>& model, optim::Sgd<float, Cpu>& optimizer, const Tensor<float>& images,
             const Tensor<std::int64_t>& labels, data::Loader<data::LabelledImages, Cpu>& batches, History& history) {
#ifdef LOCUS_MUST_FAIL
  fit(model, optimizer, images, labels, history, {.epochs = 2});
#else
  (void)images, (void)labels;
  fit(model, optimizer, batches, batches, history, {.epochs = 2});
#endif
}
