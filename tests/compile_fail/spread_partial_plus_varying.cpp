// A Partial operand meets a Varying one: a sum that was forgotten.
// expect-error(clang): a Partial operand meets a Varying one; all_reduce the Partial one first
// expect-error(clang19): a Partial operand meets a Varying one; all_reduce the Partial one first
// expect-error(gcc): a_Partial_operand_meets_a_Varying_one.*all_reduce_the_Partial_one_first
// expect-error(nvcc): a_Partial_operand_meets_a_Varying_one.*all_reduce_the_Partial_one_first
// because: each rank would add its own numbers to its part of a sum that no rank has
#include <locus/distributed/spread.hpp>
#include <locus/locus.hpp>

using namespace locus;
struct Grid;
struct Data : Along<Grid> {};
struct Model : Along<Grid> {};
template <class... S>
using Value = Over<Tensor<float>, S...>;
using DataRanks = dist::Ranks<Data, Cpu>;

auto f(Value<Varying<Data>> v, Value<Partial<Data>> p, const DataRanks& data) {
#ifdef LOCUS_MUST_FAIL
  return v + p;
#else
  return v + data.all_reduce(p);
#endif
}
