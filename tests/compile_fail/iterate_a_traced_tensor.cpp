// Iterating over a traced tensor.
// because: computations with the numbers would not be recorded
// expect-error: traced_tensors_and_parameters_give|traced tensors and parameters give theirs through their value
// expect-error: traced_tensors_and_parameters_give_theirs_through_their_value_x_value|x\.value\(\)
#include <locus/locus.hpp>

using namespace locus;

void mistake(const Traced<float>& x, float& sum) {
#ifdef LOCUS_MUST_FAIL
  for (const float element : x) sum += element;
#else
  for (const float element : x.value()) sum += element;
#endif
}
