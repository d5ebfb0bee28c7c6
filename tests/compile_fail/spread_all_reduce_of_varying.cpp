// A sum of values that nobody called parts.
// expect-error(clang): ranks.all_reduce.x.: x is Varying and no part of a sum; say ranks.partial
// expect-error(clang19): ranks.all_reduce.x.: x is Varying and no part of a sum; say ranks.partial
// expect-error(gcc): x_is_Varying_and_no_part_of_a_sum.*say_ranks_partial
// expect-error(nvcc): x_is_Varying_and_no_part_of_a_sum.*say_ranks_partial
#include <locus/distributed/spread.hpp>
#include <locus/locus.hpp>

using namespace locus;
struct Grid;
struct Data : Along<Grid> {};
struct Model : Along<Grid> {};
template <class... S>
using Value = Over<Tensor<float>, S...>;
using DataRanks = dist::Ranks<Data, Cpu>;

auto f(Value<Varying<Data>> v, const DataRanks& data) {
#ifdef LOCUS_MUST_FAIL
  return data.all_reduce(v);
#else
  return data.all_reduce(data.partial(v));
#endif
}
