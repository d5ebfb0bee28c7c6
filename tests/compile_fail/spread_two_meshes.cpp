// Values that are spread over two meshes.
// expect-error(clang): the operands are spread over axes of two meshes; gather one first
// expect-error(clang19): the operands are spread over axes of two meshes; gather one first
// expect-error(gcc): the_operands_are_spread_over_axes_of_two_meshes.*gather_one_first
// expect-error(nvcc): the_operands_are_spread_over_axes_of_two_meshes.*gather_one_first
#include <locus/distributed/spread.hpp>
#include <locus/locus.hpp>

using namespace locus;
struct Grid;
struct Data : Along<Grid> {};
struct Model : Along<Grid> {};
struct Other;
struct Elsewhere : Along<Other> {};
template <class... S>
using Value = Over<Tensor<float>, S...>;

auto f(Value<Varying<Data>> a, [[maybe_unused]] Value<Varying<Elsewhere>> b, [[maybe_unused]] Value<Varying<Model>> c) {
#ifdef LOCUS_MUST_FAIL
  return a + b;
#else
  return a + c;
#endif
}
