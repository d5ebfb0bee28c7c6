// Converting elements with .to, as in PyTorch.
// because: .to moves between places, .as converts elements
// expect-error: place_is_no_element_type|a place is expected, not an element type
// expect-error: convert_elements_with_as|convert with \.as<T>\(\)
#include <locus/locus.hpp>

using namespace locus;

void mistake(const Tensor<float>& x) {
#ifdef LOCUS_MUST_FAIL
  (void)x.to<double>();
#else
  (void)x.as<double>();
#endif
}
