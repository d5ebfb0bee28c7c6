// An option that fit lacks.
// group: Options
// because: an option that does not exist is an error, and the message lists those that do
// expect-error(gcc): options_are_epochs_first_epoch_capture_report_every_accumulate_before_step_after
// expect-error(nvcc): options_are_epochs_first_epoch_capture_report_every_accumulate_before_step_after
// expect-error(clang): its options, in this order, are \.epochs, \.first_epoch, \.capture
#include <locus/locus.hpp>

using namespace locus;

void mistake(const nn::Sequential<float, Cpu>& model, optim::Sgd<float, Cpu>& optimizer,
             data::Loader<data::LabelledImages, Cpu>& train, History& history) {
#ifdef LOCUS_MUST_FAIL
  fit(model, optimizer, train, train, history, {.epoch = 2});
#else
  fit(model, optimizer, train, train, history, {.epochs = 2});
#endif
}
