// A captured step that returns nothing and names no device.
// because: the device follows from the result; without a result, it must be written
// expect-error: the_step_returns_no_tensor_which_would_tell.*say_it_capture_Cuda_step|say it, capture<Cuda>\(step\)
#include <locus/locus.hpp>

using namespace locus;

void mistake(optim::Sgd<float, Cuda>& optimizer) {
#ifdef LOCUS_MUST_FAIL
  auto step = capture([&] { optimizer.step(); });
#else
  auto step = capture<Cuda>([&] { optimizer.step(); });
#endif
  step();
}
