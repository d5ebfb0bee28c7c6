// A sum of values that are the same on all ranks.
// expect-error(clang): ranks.all_reduce.x.: x is Replicated, the same on all ranks, and the sum would count it once for each; use x as it is
// expect-error(clang19): ranks.all_reduce.x.: x is Replicated, the same on all ranks, and the sum would count it once for each; use x as it is
// expect-error(gcc): x_is_Replicated_the_same_on_all_ranks.*use_x_as_it_is
// expect-error(nvcc): x_is_Replicated_the_same_on_all_ranks.*use_x_as_it_is
// because: the result would be larger by the number of ranks
#include <locus/distributed/spread.hpp>
#include <locus/locus.hpp>

using namespace locus;
struct Grid;
struct Data : Along<Grid> {};
struct Model : Along<Grid> {};
template <class... S>
using Value = Over<Tensor<float>, S...>;
using DataRanks = dist::Ranks<Data, Cpu>;

auto f([[maybe_unused]] Value<Replicated<Data>> r, [[maybe_unused]] Value<Partial<Data>> p, const DataRanks& data) {
#ifdef LOCUS_MUST_FAIL
  return data.all_reduce(r);
#else
  return data.all_reduce(p);
#endif
}
