// A scaled loss weighed by a number.
// because: its value is the loss times a scale that changes from step to step
// expect-error: a_scaled_loss_is_no_tensor|a scaled loss is no tensor
// expect-error: change_the_loss_before|change the loss before, as in scaler\.scale\(loss \* 2\)
#include <locus/locus.hpp>

using namespace locus;

auto mistake(optim::GradScaler<Cpu>& scaler, const Traced<float, Cpu>& loss) {
#ifdef LOCUS_MUST_FAIL
  return scaler.scale(loss) * 2;
#else
  return scaler.scale(loss * 2);
#endif
}
