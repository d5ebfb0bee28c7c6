// A scaler on another device than the loss.
// because: the scale multiplies the loss on its device, so that nothing waits
// expect-error: scaler_is_on<locus::Cpu>.*loss_is_on<locus::Cuda>|the scaler is on Cpu, the loss is on Cuda
// expect-error: make_the_scaler_for_the_device_of_the_loss|make an optim::GradScaler<Cuda>
#include <locus/locus.hpp>

using namespace locus;

void mistake(optim::GradScaler<Cpu>& scaler, optim::GradScaler<Cuda>& scaler_there, const Traced<float, Cuda>& loss) {
#ifdef LOCUS_MUST_FAIL
  (void)scaler.scale(loss);
#else
  (void)scaler_there.scale(loss);
#endif
}
