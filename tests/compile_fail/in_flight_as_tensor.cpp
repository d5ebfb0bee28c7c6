// A tensor made of a copy in flight, as if the copy were done.
// because: a conversion would either wait, unseen, or be read too early
// expect-error: tensor_is_still_being_copied|still being copied
// expect-error: say_std_move_x_ordered_or_wait|std::move\(x\)\.(wait|ordered)\(\)
#include <locus/locus.hpp>

using namespace locus;

void mistake(const Tensor<float, Pinned>& batch) {
#ifdef LOCUS_MUST_FAIL
  const Tensor<float, Cuda> x = copy_async(batch);
#else
  const Tensor<float, Cuda> x = copy_async(batch).ordered();
#endif
}
