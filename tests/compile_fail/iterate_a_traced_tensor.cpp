// Iterating over a traced tensor.
// because: what is computed from the numbers would not be recorded
// expect-error: element_of_a_traced_tensor_or_parameter|traced tensors and parameters give theirs through their value
// expect-error: take_its_value_first_x_value|x\.value\(\)
#include <locus/locus.hpp>

using namespace locus;

void mistake(const Traced<float>& x, float& sum) {
#ifdef LOCUS_MUST_FAIL
  for (const float element : x) sum += element;
#else
  for (const float element : x.value()) sum += element;
#endif
}
