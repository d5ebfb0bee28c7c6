// An optimizer's step with a scaler.
// because: the scaler decides whether there is a step, so it makes it
// expect-error: a_scaler_steps_the_optimizer.*say_scaler_step_optimizer|say scaler\.step\(optimizer\)
#include <locus/locus.hpp>

using namespace locus;

void mistake(optim::Adam<half, Cuda>& optimizer, optim::GradScaler<Cuda>& scaler) {
#ifdef LOCUS_MUST_FAIL
  optimizer.step(scaler);
#else
  scaler.step(optimizer);
#endif
}
