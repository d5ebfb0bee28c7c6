// A tensor that does not say how it is spread.
// expect-error(clang): a tensor does not say how it is spread over ranks; say mesh.label
// expect-error(clang19): a tensor does not say how it is spread over ranks; say mesh.label
// expect-error(gcc): a_tensor_does_not_say_how_it_is_spread_over_ranks.*mesh_label
// expect-error(nvcc): a_tensor_does_not_say_how_it_is_spread_over_ranks.*mesh_label
// because: it may be another one on each rank, or have to be the same
#include <locus/distributed/spread.hpp>
#include <locus/locus.hpp>

using namespace locus;
struct Grid;
struct Data : Along<Grid> {};
struct Model : Along<Grid> {};
template <class... S>
using Value = Over<Tensor<float>, S...>;

auto f(Value<Varying<Data>> a, [[maybe_unused]] Tensor<float> b, [[maybe_unused]] Value<Replicated<Data>> c) {
#ifdef LOCUS_MUST_FAIL
  return a * b;
#else
  return a * c;
#endif
}
