// A scalar function without a derivative, traced.
// because: a function without a derivative would end the gradient silently
// expect-error: without_a_derivative<Cube>|no derivative
// expect-error: by_input
#include <locus/locus.hpp>

using namespace locus;

struct Cube {
  template <class T> LOCUS_FN T operator()(T x) const { return x * x * x; }
};
struct CubeWithDerivative : Cube {
  template <class T> LOCUS_FN T by_input(T x) const { return T(3) * x * x; }
};

Traced<float, Cpu> mistake(Traced<float, Cpu> x) {
#ifdef LOCUS_MUST_FAIL
  return Traced(elementwise(Cube{}, x));
#else
  return Traced(elementwise(CubeWithDerivative{}, x));
#endif
}
