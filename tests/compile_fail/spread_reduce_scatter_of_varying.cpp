// Parts of tensors summed as parts of a sum.
// expect-error(clang): ranks.reduce_scatter.x.: x is Varying and no part of a sum
// expect-error(clang19): ranks.reduce_scatter.x.: x is Varying and no part of a sum
// expect-error(gcc): x_is_Varying_and_no_part_of_a_sum
// expect-error(nvcc): x_is_Varying_and_no_part_of_a_sum
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
  return data.reduce_scatter(v, 0);
#else
  return data.reduce_scatter(data.partial(v), 0);
#endif
}
