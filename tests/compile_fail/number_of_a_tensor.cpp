// A tensor as a number.
// because: reading its element may wait for a GPU, so it is written out
// expect-error: a_tensor_as_a_number|a tensor as a number
// expect-error: take_its_only_element_with_item|x\.item\(\)
#include <locus/locus.hpp>

using namespace locus;

double mistake(const Tensor<float, Cuda>& losses) {
#ifdef LOCUS_MUST_FAIL
  return static_cast<double>(mean(losses));
#else
  return static_cast<double>(mean(losses).item());
#endif
}
