// A linear layer of parts of a sum, with a bias.
// expect-error(clang): linear: beside a Partial operand, every rank would add what is the same on all; all_reduce the Partial one first, or say ranks.share
// expect-error(clang19): linear: beside a Partial operand, every rank would add what is the same on all; all_reduce the Partial one first, or say ranks.share
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
template <class... S>
using Weight = Over<Parameter<float>, S...>;

auto f(Value<Partial<Model>> x, Weight<Replicated<Model>> w, Weight<Replicated<Model>> b) {
#ifdef LOCUS_MUST_FAIL
  return linear(x, w, b);
#else
  return linear(x, w);
#endif
}
