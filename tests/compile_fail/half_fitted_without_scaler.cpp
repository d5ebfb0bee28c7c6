// fit of a model of half, without a scaler.
// because: gradients below 6e-8 are 0 in half
// expect-error: gradients_of_half_need_a_GradScaler|gradients of half need a GradScaler
// expect-error: pass_scaler_with_optimizer|pass scaler\.with\(optimizer\) in place of the optimizer, or
#include <locus/locus.hpp>

using namespace locus;

using Batches = decltype(data::loader<Cuda>(data::LabelledImages().as<half>()));

void mistake(const nn::Sequential<half, Cuda>& model, optim::Adam<half, Cuda>& optimizer,
             optim::GradScaler<Cuda>& scaler, Batches& train, Batches& valid, History& history) {
#ifdef LOCUS_MUST_FAIL
  fit(model, optimizer, train, valid, history);
#else
  fit(model, scaler.with(optimizer), train, valid, history);
#endif
}
