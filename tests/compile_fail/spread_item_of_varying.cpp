// An element that differs between ranks.
// expect-error(clang): x.item..: x is Varying and each rank has another; say ranks.all_gather
// expect-error(clang19): x.item..: x is Varying and each rank has another; say ranks.all_gather
// expect-error(gcc): x_is_Varying_and_each_rank_has_another.*all_gather
// expect-error(nvcc): x_is_Varying_and_each_rank_has_another.*all_gather
#include <locus/distributed/spread.hpp>
#include <locus/locus.hpp>

using namespace locus;
struct Grid;
struct Data : Along<Grid> {};
struct Model : Along<Grid> {};
template <class... S>
using Value = Over<Tensor<float>, S...>;

auto f(Value<Varying<Data>> v) {
#ifdef LOCUS_MUST_FAIL
  return v.item();
#else
  return v.local().item();
#endif
}
