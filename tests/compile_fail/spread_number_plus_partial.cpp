// A number that every rank would add.
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

auto f(Value<Partial<Data>> p) {
#ifdef LOCUS_MUST_FAIL
  return p + 1.f;
#else
  return p * 2.f;
#endif
}
