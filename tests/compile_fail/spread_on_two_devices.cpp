// Values on two devices, spread alike.
// expect-error(clang): the operands are in two places, or of two element types
// expect-error(clang19): the operands are in two places, or of two element types
// expect-error(gcc): left_is_on<.*Cpu>.*right_is_on<.*Cuda>
// expect-error(nvcc): left_is_on<.*Cpu>.*right_is_on<.*Cuda>
#include <locus/distributed/spread.hpp>
#include <locus/locus.hpp>

using namespace locus;
struct Grid;
struct Data : Along<Grid> {};
struct Model : Along<Grid> {};
template <class... S>
using Value = Over<Tensor<float>, S...>;

auto f(Value<Varying<Data>> v, [[maybe_unused]] Over<Tensor<float, Cuda>, Varying<Data>> c) {
#ifdef LOCUS_MUST_FAIL
  return v + c;
#else
  return v + v;
#endif
}
