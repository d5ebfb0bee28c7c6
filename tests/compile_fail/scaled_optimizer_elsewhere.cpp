// An optimizer that fit is to step through a scaler on another device.
// because: the scale multiplies losses where the model is
// expect-error: scaler_is_on<locus::Cpu>.*optimizer_is_on<locus::Cuda>|the scaler is on Cpu, the optimizer is on Cuda
// expect-error: make_the_scaler_for_the_device_of_the_optimizer|make an optim::GradScaler<Cuda>
#include <locus/locus.hpp>

using namespace locus;

void mistake(optim::Adam<half, Cuda>& optimizer) {
#ifdef LOCUS_MUST_FAIL
  optim::GradScaler<Cpu> scaler;
#else
  optim::GradScaler<Cuda> scaler;
#endif
  (void)scaler.with(optimizer);
}
