// A step with a scaled loss.
// because: only its scaler can step by the gradients of a scaled loss
// expect-error: a_scaled_loss_is_no_tensor|a scaled loss is no tensor
// expect-error: then_scaler_step_optimizer|then scaler\.step\(optimizer\)
#include <locus/locus.hpp>

using namespace locus;

void mistake(optim::Adam<float, Cuda>& optimizer, optim::GradScaler<Cuda>& scaler, const Traced<float, Cuda>& loss) {
  const auto scaled = scaler.scale(loss);
#ifdef LOCUS_MUST_FAIL
  optimizer.step(scaled);
#else
  scaled.backward();
  scaler.step(optimizer);
#endif
}
