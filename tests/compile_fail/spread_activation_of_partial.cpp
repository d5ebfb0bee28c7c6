// An activation of parts of a sum.
// expect-error(clang): linear: an operand is Partial, and the function of a sum is not the sum of the function; all_reduce it first
// expect-error(clang19): linear: an operand is Partial, and the function of a sum is not the sum of the function; all_reduce it first
// expect-error(gcc): an_operand_is_Partial_and_the_function_of_a_sum
// expect-error(nvcc): an_operand_is_Partial_and_the_function_of_a_sum
#include <locus/distributed/spread.hpp>
#include <locus/locus.hpp>

using namespace locus;
struct Grid;
struct Data : Along<Grid> {};
struct Model : Along<Grid> {};
template <class... S>
using Value = Over<Tensor<float>, S...>;
template <class... S>
using Weight = Over<Parameter<float>, S...>;
using ModelRanks = dist::Ranks<Model, Cpu>;

auto f(Value<Partial<Model>> x, Weight<Replicated<Model>> w, const ModelRanks& model) {
#ifdef LOCUS_MUST_FAIL
  return linear(x, w, functor::Relu{});
#else
  return relu(model.all_reduce(linear(x, w)));
#endif
}
