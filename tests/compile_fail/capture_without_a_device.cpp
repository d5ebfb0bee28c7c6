// A captured step that returns nothing, and nobody says where it runs.
// because: what it returns tells the device; where that is nothing, it is written out
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
