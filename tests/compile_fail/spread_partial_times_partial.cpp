// A product of two sums over ranks.
// expect-error(clang): both operands are Partial, and a product of sums is not the sum of products; all_reduce one first
// expect-error(clang19): both operands are Partial, and a product of sums is not the sum of products; all_reduce one first
// expect-error(gcc): both_operands_are_Partial.*all_reduce_one_first
// expect-error(nvcc): both_operands_are_Partial.*all_reduce_one_first
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
  return p * p;
#else
  return p * data.all_reduce(p);
#endif
}
