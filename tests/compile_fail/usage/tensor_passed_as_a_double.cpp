// A tensor for a parameter of double.
// group: Tensors as numbers
// compilers: gcc clang clang19
// because: a tensor of one element is a tensor, which may live on a GPU and be waited for
// expect-error(gcc): take_its_only_element_with_item
// expect-error(clang): take its only element with x\.item\(\)
#include <locus/locus.hpp>

using namespace locus;

double half_of(double number);

double mistake(const Tensor<float>& x) {
#ifdef LOCUS_MUST_FAIL
  return half_of(sum(x));
#else
  return half_of(sum(x).item());
#endif
}
