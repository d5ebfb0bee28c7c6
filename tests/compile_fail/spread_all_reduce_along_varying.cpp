// A sum along an axis whose ranks have other samples.
// expect-error(clang): ranks.all_reduce.x.: x is Varying along this axis; use the axis along which it is Partial, or say ranks.partial.x. first
// expect-error(clang19): ranks.all_reduce.x.: x is Varying along this axis; use the axis along which it is Partial, or say ranks.partial.x. first
// expect-error(gcc): x_is_Varying_along_this_axis.*use_the_axis_along_which_it_is_Partial
// expect-error(nvcc): x_is_Varying_along_this_axis.*use_the_axis_along_which_it_is_Partial
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

auto f(Value<Varying<Data>, Partial<Model>> p, [[maybe_unused]] const DataRanks& data,
       [[maybe_unused]] const ModelRanks& model) {
#ifdef LOCUS_MUST_FAIL
  return data.all_reduce(p);
#else
  return model.all_reduce(p);
#endif
}
