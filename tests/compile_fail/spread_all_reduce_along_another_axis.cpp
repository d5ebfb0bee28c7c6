// A sum along the wrong axis.
// expect-error(clang): ranks.all_reduce.x.: x is the same on all ranks of this axis; use it as it is, or the axis along which it is Partial
// expect-error(clang19): ranks.all_reduce.x.: x is the same on all ranks of this axis; use it as it is, or the axis along which it is Partial
// expect-error(gcc): x_is_the_same_on_all_ranks_of_this_axis.*axis_along_which_it_is_Partial
// expect-error(nvcc): x_is_the_same_on_all_ranks_of_this_axis.*axis_along_which_it_is_Partial
// because: the ranks of the other axis have the same part: it would be counted once for each
#include <locus/distributed/spread.hpp>
#include <locus/locus.hpp>

using namespace locus;
struct Grid;
struct Data : Along<Grid> {};
struct Model : Along<Grid> {};
template <class... S>
using Value = Over<Tensor<float>, S...>;
using DataRanks = dist::Ranks<Data, Cpu>;
using ModelRanks = dist::Ranks<Model, Cpu>;

auto f(Value<Partial<Data>> p, [[maybe_unused]] const DataRanks& data, [[maybe_unused]] const ModelRanks& model) {
#ifdef LOCUS_MUST_FAIL
  return model.all_reduce(p);
#else
  return data.all_reduce(p);
#endif
}
