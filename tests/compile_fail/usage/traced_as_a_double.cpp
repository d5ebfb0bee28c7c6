// A traced mean as a double.
// group: Tensors as numbers
// compilers: gcc clang clang19
// because: a tensor of one element is a tensor, which may live on a GPU and be waited for
// expect-error(gcc): take_its_only_element_with_item
// expect-error(clang): take its only element with x\.item\(\)
#include <locus/locus.hpp>

using namespace locus;

double mistake(const Traced<float>& x) {
#ifdef LOCUS_MUST_FAIL
  const double s = mean(x * x);
#else
  const double s = mean(x * x).item();
#endif
  return s;
}
