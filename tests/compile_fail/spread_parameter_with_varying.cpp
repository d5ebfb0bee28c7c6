// A parameter whose gradients nobody would sum.
// expect-error(clang): matmul: an Invariant operand, such as a parameter w, meets one that is not; say ranks.replicated.w.
// expect-error(clang19): matmul: an Invariant operand, such as a parameter w, meets one that is not; say ranks.replicated.w.
// expect-error(gcc): an_Invariant_operand_such_as_a_parameter_w.*say_ranks_replicated_w
// expect-error(nvcc): an_Invariant_operand_such_as_a_parameter_w.*say_ranks_replicated_w
// because: each rank would step with the gradient of its own batch, and the weights would drift apart
#include <locus/distributed/spread.hpp>
#include <locus/locus.hpp>

using namespace locus;
struct Grid;
struct Data : Along<Grid> {};
struct Model : Along<Grid> {};
template <class... S>
using Recorded = Over<Traced<float>, S...>;
template <class... S>
using Weight = Over<Parameter<float>, S...>;
using DataRanks = dist::Ranks<Data, Cpu>;

auto f(Recorded<Varying<Data>> x, Weight<> w, const DataRanks& data) {
#ifdef LOCUS_MUST_FAIL
  return matmul(x, w);
#else
  return matmul(x, data.replicated(w));
#endif
}
