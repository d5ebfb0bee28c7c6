// Clipping a scaled loss.
// because: it is the gradients of parameters that are clipped, once they are unscaled
// expect-error: a_scaled_loss_is_no_tensor|a scaled loss is no tensor
// expect-error: after_scaler_unscale_optimizer|after scaler\.unscale\(optimizer\)
#include <locus/locus.hpp>

using namespace locus;

void mistake(optim::Adam<float, Cuda>& optimizer, optim::GradScaler<Cuda>& scaler, const Traced<float, Cuda>& loss) {
  const auto scaled = scaler.scale(loss);
#ifdef LOCUS_MUST_FAIL
  optim::clip_grad_norm_(scaled, 1.0);
#else
  scaled.backward();
  scaler.unscale(optimizer);
  optim::clip_grad_norm_(optimizer.parameters(), 1.0);
#endif
}
