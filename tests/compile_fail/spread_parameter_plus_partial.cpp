// A bias that trains, added by every rank to its part of a sum.
// expect-error(clang): operator\+: beside a Partial operand, every rank would add what is the same on all; all_reduce the Partial one first, or say ranks.share
// expect-error(clang19): operator\+: beside a Partial operand, every rank would add what is the same on all; all_reduce the Partial one first, or say ranks.share
// expect-error(gcc): every_rank_would_add_what_is_the_same_on_all.*say_ranks_share_x
// expect-error(nvcc): every_rank_would_add_what_is_the_same_on_all.*say_ranks_share_x
#include <locus/distributed/spread.hpp>
#include <locus/locus.hpp>

using namespace locus;
struct Grid;
struct Data : Along<Grid> {};
struct Model : Along<Grid> {};
template <class... S>
using Recorded = Over<Traced<float>, S...>;
using ModelRanks = dist::Ranks<Model, Cpu>;

auto f(Recorded<Partial<Model>> p, Over<Parameter<float>> b, [[maybe_unused]] const ModelRanks& model) {
#ifdef LOCUS_MUST_FAIL
  return p + b;
#else
  return model.all_reduce<Invariant>(p) + b;
#endif
}
