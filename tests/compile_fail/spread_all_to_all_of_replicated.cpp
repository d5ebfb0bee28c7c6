// An exchange of parts of a value that each rank has.
// expect-error(clang): ranks.all_to_all.x.: x is Replicated and each rank has all of it; say ranks.part
// expect-error(clang19): ranks.all_to_all.x.: x is Replicated and each rank has all of it; say ranks.part
// expect-error(gcc): x_is_Replicated_and_each_rank_has_all_of_it
// expect-error(nvcc): x_is_Replicated_and_each_rank_has_all_of_it
#include <locus/distributed/spread.hpp>
#include <locus/locus.hpp>

using namespace locus;
struct Grid;
struct Data : Along<Grid> {};
struct Model : Along<Grid> {};
template <class... S>
using Value = Over<Tensor<float>, S...>;
using DataRanks = dist::Ranks<Data, Cpu>;

auto f([[maybe_unused]] Value<Replicated<Data>> r, const DataRanks& data) {
#ifdef LOCUS_MUST_FAIL
  return data.all_to_all(r, 0, 1);
#else
  return data.part(r, 0);
#endif
}
