// An Invariant parameter beside a Replicated input.
// expect-error(clang): matmul: an Invariant operand, such as a parameter w, meets one that is not; say ranks.replicated.w.
// expect-error(clang19): matmul: an Invariant operand, such as a parameter w, meets one that is not; say ranks.replicated.w.
// expect-error(gcc): an_Invariant_operand_such_as_a_parameter_w.*say_ranks_replicated_w
// expect-error(nvcc): an_Invariant_operand_such_as_a_parameter_w.*say_ranks_replicated_w
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
using ModelRanks = dist::Ranks<Model, Cpu>;

auto f(Recorded<Replicated<Model>> x, Weight<> w, const ModelRanks& model) {
#ifdef LOCUS_MUST_FAIL
  return matmul(x, w);
#else
  return matmul(x, model.replicated(w));
#endif
}
