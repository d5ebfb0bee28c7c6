// A value that would stop being the same on all ranks.
// expect-error(clang): the result is spread otherwise over ranks than the target
// expect-error(clang19): the result is spread otherwise over ranks than the target
// expect-error(gcc): the_result_is_spread_otherwise_over_ranks_than_the_target
// expect-error(nvcc): the_result_is_spread_otherwise_over_ranks_than_the_target
#include <locus/distributed/spread.hpp>
#include <locus/locus.hpp>

using namespace locus;
struct Grid;
struct Data : Along<Grid> {};
struct Model : Along<Grid> {};
template <class... S>
using Value = Over<Tensor<float>, S...>;

void f(Value<Replicated<Data>> r, Value<Varying<Data>> v) {
#ifdef LOCUS_MUST_FAIL
  r += v;
#else
  v += r;
#endif
}
