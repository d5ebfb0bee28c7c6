// `w.grad`
// group: Names of tensors elsewhere
// because: the gradient is given by a function, as is all that a parameter says
// expect-error(gcc): non-static member function
// expect-error(nvcc): may only be used to call the function
// expect-error(clang): must be called
#include <locus/locus.hpp>

using namespace locus;

auto mistake(const Parameter<float>& w) {
#ifdef LOCUS_MUST_FAIL
  return sum(w.grad);
#else
  return sum(w.grad());
#endif
}
