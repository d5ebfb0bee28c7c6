// Training without batches to validate on.
// group: Options
// because: every epoch ends with a validation, if on the same batches
// expect-error(gcc): say_fit_model_optimizer_train_valid_history
// expect-error(nvcc): say_fit_model_optimizer_train_valid_history
// expect-error(clang): say fit\(model, optimizer, train, valid, history, options\)
#include <locus/locus.hpp>

using namespace locus;

void mistake(const nn::Sequential<float, Cpu>& model, optim::Sgd<float, Cpu>& optimizer,
             data::Loader<data::LabelledImages, Cpu>& train, History& history) {
#ifdef LOCUS_MUST_FAIL
  fit(model, optimizer, train, history);
#else
  fit(model, optimizer, train, train, history);
#endif
}
