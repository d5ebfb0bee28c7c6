// Parts of a sum joined with a value that is whole.
// expect-error(clang): every rank would add what is the same on all; all_reduce the Partial one first, or say ranks.share
// expect-error(clang19): every rank would add what is the same on all; all_reduce the Partial one first, or say ranks.share
// expect-error(gcc): every_rank_would_add_what_is_the_same_on_all.*say_ranks_share_x
// expect-error(nvcc): every_rank_would_add_what_is_the_same_on_all.*say_ranks_share_x
#include <locus/distributed/spread.hpp>
#include <locus/locus.hpp>

using namespace locus;
struct Grid;
struct Data : Along<Grid> {};
struct Model : Along<Grid> {};
template <class... S>
using Value = Over<Tensor<float>, S...>;
using DataRanks = dist::Ranks<Data, Cpu>;

auto f(Value<Partial<Data>> p, Value<Replicated<Data>> r, const DataRanks& data) {
#ifdef LOCUS_MUST_FAIL
  return concat(0, p, r);
#else
  return concat(0, p, data.share(r));
#endif
}
