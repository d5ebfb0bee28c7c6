// fit with a scaler in place of the optimizer.
// because: a scaler steps only the optimizer that it is given
// expect-error: a_scaler_instead_of_an_optimizer|a scaler was given instead of an optimizer
// expect-error: pass_scaler_with_optimizer|pass scaler\.with\(optimizer\)
#include <locus/locus.hpp>

using namespace locus;

using Batches = decltype(data::loader<Cuda>(data::LabelledImages().as<half>()));

void mistake(const nn::Sequential<half, Cuda>& model, optim::Adam<half, Cuda>& optimizer,
             optim::GradScaler<Cuda>& scaler, Batches& train, Batches& valid, History& history) {
#ifdef LOCUS_MUST_FAIL
  fit(model, scaler, train, valid, history);
#else
  fit(model, scaler.with(optimizer), train, valid, history);
#endif
}
