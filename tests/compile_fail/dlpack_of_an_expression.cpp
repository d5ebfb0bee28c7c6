// Another library's view of an expression.
// because: an expression is computed where it is read, so there are no elements in memory
// expect-error: x_is_an_expression|x is an expression
// expect-error: compute_it_x_eval|compute it, x\.eval\(\)
#include <locus/interop/dlpack.hpp>
#include <locus/locus.hpp>

using namespace locus;

auto mistake(const Tensor<float, Cpu>& x) {
#ifdef LOCUS_MUST_FAIL
  return to_dlpack(x * 2);
#else
  return to_dlpack((x * 2).eval());
#endif
}
