// A comparison of tensors as a condition.
// because: which of its elements decide would be a guess, which PyTorch refuses when it runs
// expect-error: a_tensor_as_a_condition|a tensor as a condition
// expect-error: say_all_x_item_or_any_x_item|say all\(x\)\.item\(\) or any\(x\)\.item\(\)
#include <locus/locus.hpp>

using namespace locus;

void mistake(const Tensor<float>& a, const Tensor<float>& b) {
#ifdef LOCUS_MUST_FAIL
  if (a == b) return;
#else
  if (all(a == b).item()) return;
#endif
}
