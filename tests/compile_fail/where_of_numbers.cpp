// A choice between two numbers.
// because: their C++ types say too little about the element type that is meant
// expect-error: numbers_alone|numbers alone have no element type
// expect-error: make_one_a_tensor_as_in_full|make one a tensor, as in full
#include <locus/locus.hpp>

using namespace locus;

void mistake(const Tensor<float>& x) {
#ifdef LOCUS_MUST_FAIL
  (void)where(x > 0.f, 1.f, 0.f);
#else
  (void)where(x > 0.f, full({}, 1.f), 0.f);
#endif
}
