// Labels that are still being copied.
// because: their elements may not have arrived yet
// expect-error: tensor_is_still_being_copied|still being copied
// expect-error: say_std_move_x_ordered_or_wait|say std::move\(x\)\.ordered\(\)
#include <locus/locus.hpp>

using namespace locus;

auto mistake(const Tensor<float, Cuda>& logits, Pending<Tensor<std::int64_t, Cuda>> labels) {
#ifdef LOCUS_MUST_FAIL
  return cross_entropy(logits, labels);
#else
  return cross_entropy(logits, std::move(labels).ordered());
#endif
}
