// A gradient that is spread as its value, where it is the sum of the ranks'.
// expect-error(clang): x.backward.g.: g is spread otherwise than the gradient of x; it is Partial where x is Replicated
// expect-error(clang19): x.backward.g.: g is spread otherwise than the gradient of x; it is Partial where x is Replicated
// expect-error(gcc): g_is_spread_otherwise_than_the_gradient_of_x
// expect-error(nvcc): g_is_spread_otherwise_than_the_gradient_of_x
#include <locus/distributed/spread.hpp>
#include <locus/locus.hpp>

using namespace locus;
struct Grid;
struct Data : Along<Grid> {};

void f(const Over<Traced<float>, Replicated<Data>>& x, const Over<Tensor<float>, Replicated<Data>>& g,
       [[maybe_unused]] const dist::Ranks<Data, Cpu>& data) {
#ifdef LOCUS_MUST_FAIL
  x.backward(g);
#else
  x.backward(data.share(g));
#endif
}
