// Waiting for a copy without moving from it.
// because: it becomes the tensor once; afterwards there is no copy in flight
// expect-error: what_was_waited_for_is_used_up|what was waited for is used up
// expect-error: say_std_move_x_wait|say std::move\(x\)\.wait\(\)
#include <locus/locus.hpp>

using namespace locus;

auto mistake(Pending<Tensor<float, Cuda>> x) {
#ifdef LOCUS_MUST_FAIL
  return x.wait();
#else
  return std::move(x).wait();
#endif
}
