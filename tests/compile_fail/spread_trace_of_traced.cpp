// A value traced twice.
// expect-error(clang): trace.x.: x is traced already; use it as it is
// expect-error(clang19): trace.x.: x is traced already; use it as it is
// expect-error(gcc): x_is_traced_already.*use_it_as_it_is
// expect-error(nvcc): x_is_traced_already.*use_it_as_it_is
#include <locus/distributed/spread.hpp>
#include <locus/locus.hpp>

using namespace locus;
struct Grid;
struct Data : Along<Grid> {};

auto f(const Over<Tensor<float>, Varying<Data>>& x) {
#ifdef LOCUS_MUST_FAIL
  return trace(trace(x));
#else
  return trace(x);
#endif
}
