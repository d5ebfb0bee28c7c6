// An element that is not summed yet.
// expect-error(clang): x.item..: x is Partial and the true value is the sum over ranks; say ranks.all_reduce
// expect-error(clang19): x.item..: x is Partial and the true value is the sum over ranks; say ranks.all_reduce
// expect-error(gcc): x_is_Partial_and_the_true_value_is_the_sum_over_ranks.*all_reduce
// expect-error(nvcc): x_is_Partial_and_the_true_value_is_the_sum_over_ranks.*all_reduce
// because: each rank would show its part as the loss
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
  return p.item();
#else
  return data.all_reduce(p).item();
#endif
}
