// Parts of a sum, taken for the sum.
// expect-error(clang): the source is spread otherwise over ranks than the type says; say ranks.all_reduce
// expect-error(clang19): the source is spread otherwise over ranks than the type says; say ranks.all_reduce
// expect-error(gcc): the_source_is_spread_otherwise_over_ranks_than_the_type_says
// expect-error(nvcc): the_source_is_spread_otherwise_over_ranks_than_the_type_says
#include <locus/distributed/spread.hpp>
#include <locus/locus.hpp>

using namespace locus;
struct Grid;
struct Data : Along<Grid> {};
struct Model : Along<Grid> {};
template <class... S>
using Value = Over<Tensor<float>, S...>;
using DataRanks = dist::Ranks<Data, Cpu>;

Value<Replicated<Data>> f(Value<Partial<Data>> p, [[maybe_unused]] const DataRanks& data) {
#ifdef LOCUS_MUST_FAIL
  return p;
#else
  return data.all_reduce(p);
#endif
}
