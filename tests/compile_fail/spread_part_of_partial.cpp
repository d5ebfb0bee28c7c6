// A part of a tensor taken of parts of a sum.
// expect-error(clang): ranks.part.x.: x is Partial.*say ranks.reduce_scatter
// expect-error(clang19): ranks.part.x.: x is Partial.*say ranks.reduce_scatter
// expect-error(gcc): x_is_Partial_and_the_true_value_is_the_sum_over_ranks
// expect-error(nvcc): x_is_Partial_and_the_true_value_is_the_sum_over_ranks
#include <locus/distributed/spread.hpp>
#include <locus/locus.hpp>

using namespace locus;
struct Grid;
struct Data : Along<Grid> {};
struct Model : Along<Grid> {};
template <class... S>
using Value = Over<Tensor<float>, S...>;
using DataRanks = dist::Ranks<Data, Cpu>;

auto f(Value<Partial<Data>> p, const DataRanks& data) {
#ifdef LOCUS_MUST_FAIL
  return data.part(p, 0);
#else
  return data.reduce_scatter(p, 0);
#endif
}
