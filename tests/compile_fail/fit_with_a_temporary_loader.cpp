// Training with a loader that has no name.
// because: a loader counts its epochs, and is left where training can go on with it
// expect-error: fit_model_optimizer_train_valid_history_with_something|than loaders, that of the training with a name
// expect-error: make_one_first_auto_train_data_loader_D_dataset_options|make one first, auto train =
#include <locus/locus.hpp>

using namespace locus;

void mistake(const nn::Sequential<float, Cpu>& model, optim::Sgd<float, Cpu>& optimizer,
             const data::LabelledImages& digits, History& history) {
#ifdef LOCUS_MUST_FAIL
  fit(model, optimizer, data::loader<Cpu>(digits), data::loader<Cpu>(digits), history);
#else
  auto train = data::loader<Cpu>(digits), valid = data::loader<Cpu>(digits);
  fit(model, optimizer, train, valid, history);
#endif
}
