// Ordering a copy without moving from it.
// because: it becomes the tensor once; afterwards there is no copy in flight
// expect-error: what_is_ordered_is_used_up|what is ordered is used up
// expect-error: say_std_move_x_ordered|say std::move\(x\)\.ordered\(\)
#include <locus/locus.hpp>

using namespace locus;

auto mistake(Pending<Tensor<float, Cuda>> x) {
#ifdef LOCUS_MUST_FAIL
  return x.ordered();
#else
  return std::move(x).ordered();
#endif
}
