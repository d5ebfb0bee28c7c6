// A matrix product of two sums over ranks.
// expect-error(clang): matmul: both operands are Partial
// expect-error(clang19): matmul: both operands are Partial
// expect-error(gcc): both_operands_are_Partial
// expect-error(nvcc): both_operands_are_Partial
#include <locus/distributed/spread.hpp>
#include <locus/locus.hpp>

using namespace locus;
struct Grid;
struct Data : Along<Grid> {};
struct Model : Along<Grid> {};
template <class... S>
using Value = Over<Tensor<float>, S...>;
using DataRanks = dist::Ranks<Data, Cpu>;

auto f(Value<Partial<Data>> p, const DataRanks& data) {
#ifdef LOCUS_MUST_FAIL
  return matmul(p, p);
#else
  return matmul(p, data.all_reduce(p));
#endif
}
