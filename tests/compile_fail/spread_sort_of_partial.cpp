// The order of the parts of a sum.
// expect-error(clang): sort: an operand is Partial, and the function of a sum is not the sum of the function; all_reduce it first
// expect-error(clang19): sort: an operand is Partial, and the function of a sum is not the sum of the function; all_reduce it first
// expect-error(gcc): an_operand_is_Partial_and_the_function_of_a_sum.*all_reduce_it_first
// expect-error(nvcc): an_operand_is_Partial_and_the_function_of_a_sum.*all_reduce_it_first
#include <locus/distributed/spread.hpp>
#include <locus/locus.hpp>
#include <locus/ops/sort.hpp>

using namespace locus;
struct Grid;
struct Data : Along<Grid> {};
struct Model : Along<Grid> {};

auto f(Over<Tensor<float>, Partial<Data>> p, const dist::Ranks<Data, Cpu>& data) {
#ifdef LOCUS_MUST_FAIL
  return (void)data, sort(p);
#else
  return sort(data.all_reduce(p));
#endif
}
