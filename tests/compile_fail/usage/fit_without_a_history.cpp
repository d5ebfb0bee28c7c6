// Training without a history.
// group: Options
// because: fit writes its measurements to a history
// expect-error(gcc): say_fit_model_optimizer_train_valid_history
// expect-error(nvcc): say_fit_model_optimizer_train_valid_history
// expect-error(clang): say fit\(model, optimizer, train, valid, history, options\)
#include <locus/locus.hpp>

using namespace locus;

void mistake(const nn::Sequential<float, Cpu>& model, optim::Sgd<float, Cpu>& optimizer,
             data::Loader<data::LabelledImages, Cpu>& train, History& history) {
#ifdef LOCUS_MUST_FAIL
  (void)history, fit(model, optimizer, train, train);
#else
  fit(model, optimizer, train, train, history);
#endif
}
