// Assigning a copy in flight.
// because: a conversion would either wait, unseen, or be read too early
// expect-error: tensor_is_still_being_copied|still being copied
// expect-error: say_std_move_x_ordered_or_wait|say std::move\(x\)\.ordered\(\)
#include <locus/locus.hpp>

using namespace locus;

void mistake(Tensor<float, Cuda> x, const Tensor<float, Pinned>& batch) {
#ifdef LOCUS_MUST_FAIL
  x = copy_async(batch);
#else
  x = copy_async(batch).ordered();
#endif
}
