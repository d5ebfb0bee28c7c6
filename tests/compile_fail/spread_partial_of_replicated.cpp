// A value that is the same on all ranks, called a part of a sum.
// expect-error(clang): ranks.partial.x.: x is Replicated and a sum would count it once for each rank; say ranks.share
// expect-error(clang19): ranks.partial.x.: x is Replicated and a sum would count it once for each rank; say ranks.share
// expect-error(gcc): x_is_Replicated_and_a_sum_would_count_it_once_for_each_rank
// expect-error(nvcc): x_is_Replicated_and_a_sum_would_count_it_once_for_each_rank
#include <locus/distributed/spread.hpp>
#include <locus/locus.hpp>

using namespace locus;
struct Grid;
struct Data : Along<Grid> {};
struct Model : Along<Grid> {};
template <class... S>
using Value = Over<Tensor<float>, S...>;
using DataRanks = dist::Ranks<Data, Cpu>;

auto f(Value<Replicated<Data>> r, const DataRanks& data) {
#ifdef LOCUS_MUST_FAIL
  return data.partial(r);
#else
  return data.share(r);
#endif
}
