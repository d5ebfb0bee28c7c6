// Reading an element of an expression.
// because: it is not computed yet, and each element would compute it anew
// expect-error: reading_an_element_an_expression_is_not_computed_yet|an expression is not computed yet
// expect-error: name_it_as_a_Tensor|name it as a Tensor first
#include <locus/locus.hpp>

using namespace locus;

void mistake(const Tensor<float>& x) {
#ifdef LOCUS_MUST_FAIL
  (void)(x + 1.f)(0, 0);
#else
  const Tensor y = x + 1.f;
  (void)y(0, 0);
#endif
}
