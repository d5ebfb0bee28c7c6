// Sorting a tensor that is still being copied.
// because: its elements may not have arrived yet
// expect-error: tensor_is_still_being_copied|still being copied
// expect-error: say_std_move_x_ordered_or_wait|say std::move\(x\)\.ordered\(\)
#include <locus/locus.hpp>
#include <locus/ops/sort.hpp>

using namespace locus;

void mistake(Pending<Tensor<float, Cuda>> x) {
#ifdef LOCUS_MUST_FAIL
  (void)topk(x, 3);
#else
  (void)topk(std::move(x).ordered(), 3);
#endif
}
