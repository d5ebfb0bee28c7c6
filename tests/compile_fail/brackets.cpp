// Indexing with brackets, as in PyTorch.
// because: in C++20 brackets take one index, and it would not say whether a row or an element is meant
// expect-error: say_x_i_for_an_element_or_x_select_0_i_for_a_part_of_a_tensor|x\[i\]
// expect-error: say_x_i_for_an_element_or_x_select_0_i_for_a_part_of_a|say x\(i\) for an element, or x.select\(0, i\)
#include <locus/locus.hpp>

using namespace locus;

void mistake(const Tensor<float>& x) {
#ifdef LOCUS_MUST_FAIL
  (void)x[0];
#else
  (void)x.select(0, 0);
#endif
}
