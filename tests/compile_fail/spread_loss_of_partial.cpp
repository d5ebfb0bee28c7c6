// A loss of logits that are parts of a sum.
// expect-error(clang): cross_entropy: an operand is Partial, and the function of a sum is not the sum of the function; all_reduce it first
// expect-error(clang19): cross_entropy: an operand is Partial, and the function of a sum is not the sum of the function; all_reduce it first
// expect-error(gcc): an_operand_is_Partial_and_the_function_of_a_sum
// expect-error(nvcc): an_operand_is_Partial_and_the_function_of_a_sum
#include <locus/distributed/spread.hpp>
#include <locus/locus.hpp>

using namespace locus;
struct Grid;
struct Data : Along<Grid> {};
struct Model : Along<Grid> {};
template <class... S>
using Recorded = Over<Traced<float>, S...>;
template <class... S>
using Value = Over<Tensor<float>, S...>;
using DataRanks = dist::Ranks<Data, Cpu>;

auto f(Recorded<Partial<Data>> p, Over<Tensor<std::int64_t>, Replicated<Data>> labels, const DataRanks& data) {
#ifdef LOCUS_MUST_FAIL
  return cross_entropy(p, labels);
#else
  return cross_entropy(data.all_reduce(p), labels);
#endif
}
