// The number of epochs without its name.
// group: Options
// because: options have names
// expect-error(gcc): options_are_epochs_first_epoch_capture_report_every_accumulate_before_step_after
// expect-error(nvcc): options_are_epochs_first_epoch_capture_report_every_accumulate_before_step_after
// expect-error(clang): its options, in this order, are \.epochs, \.first_epoch, \.capture
#include <locus/locus.hpp>

using namespace locus;

void mistake(const nn::Sequential<float, Cpu>& model, optim::Sgd<float, Cpu>& optimizer,
             data::Loader<data::LabelledImages, Cpu>& train, History& history) {
#ifdef LOCUS_MUST_FAIL
  fit(model, optimizer, train, train, history, 10);
#else
  fit(model, optimizer, train, train, history, {.epochs = 10});
#endif
}
