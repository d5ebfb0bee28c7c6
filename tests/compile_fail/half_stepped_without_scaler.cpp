// Stepping a model of half by the gradients of an ordinary loss.
// because: gradients below 6e-8 are 0 in half, so that most of them vanish; PyTorch trains on without a word
// expect-error: gradients_of_half_need_a_GradScaler|gradients of half need a GradScaler
// expect-error: then_scaler_step_optimizer|then scaler\.step\(optimizer\)
#include <locus/locus.hpp>

using namespace locus;

void mistake(optim::Adam<half, Cuda>& optimizer, optim::GradScaler<Cuda>& scaler) {
#ifdef LOCUS_MUST_FAIL
  optimizer.step();
#else
  scaler.step(optimizer);
#endif
}
