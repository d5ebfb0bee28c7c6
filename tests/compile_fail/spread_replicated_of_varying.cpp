// A parameter of which each rank has another, taken for the same on all.
// expect-error(clang): ranks.replicated.x.: x is Varying and each rank has another; say ranks.all_gather
// expect-error(clang19): ranks.replicated.x.: x is Varying and each rank has another; say ranks.all_gather
// expect-error(gcc): x_is_Varying_and_each_rank_has_another
// expect-error(nvcc): x_is_Varying_and_each_rank_has_another
#include <locus/distributed/spread.hpp>
#include <locus/locus.hpp>

using namespace locus;
struct Grid;
struct Data : Along<Grid> {};
struct Model : Along<Grid> {};
template <class... S>
using Weight = Over<Parameter<float>, S...>;
using DataRanks = dist::Ranks<Data, Cpu>;

auto f(Weight<Varying<Data>> w, const DataRanks& data) {
#ifdef LOCUS_MUST_FAIL
  return data.replicated(w);
#else
  return data.all_gather(w, 0);
#endif
}
