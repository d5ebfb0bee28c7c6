// A function of the parts of a sum.
// expect-error(clang): relu: an operand is Partial, and the function of a sum is not the sum of the function; all_reduce it first
// expect-error(clang19): relu: an operand is Partial, and the function of a sum is not the sum of the function; all_reduce it first
// expect-error(gcc): an_operand_is_Partial_and_the_function_of_a_sum.*all_reduce_it_first
// expect-error(nvcc): an_operand_is_Partial_and_the_function_of_a_sum.*all_reduce_it_first
// because: relu(a + b) is not relu(a) + relu(b)
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
  return relu(p);
#else
  return relu(data.all_reduce(p));
#endif
}
