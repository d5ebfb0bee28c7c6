// Reading a scaled loss.
// because: its value is the loss times a scale that changes from step to step
// expect-error: a_scaled_loss_is_no_tensor|a scaled loss is no tensor
// expect-error: read_the_loss_itself|read the loss itself, loss\.item\(\)
#include <locus/locus.hpp>

using namespace locus;

float mistake(optim::GradScaler<Cpu>& scaler, const Traced<float, Cpu>& loss) {
  const auto scaled = scaler.scale(loss);
  scaled.backward();
#ifdef LOCUS_MUST_FAIL
  return scaled.item();
#else
  return loss.item();
#endif
}
