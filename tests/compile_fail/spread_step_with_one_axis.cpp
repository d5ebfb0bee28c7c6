// A step that would sum along one axis of two.
// expect-error(clang): gradients are Partial along axes of this optimizer
// expect-error(clang19): gradients are Partial along axes of this optimizer
// expect-error(gcc): gradients_are_Partial_along_axes_of_this_optimizer
// expect-error(nvcc): gradients_are_Partial_along_axes_of_this_optimizer
#include <locus/distributed/spread.hpp>
#include <locus/locus.hpp>

using namespace locus;
struct Grid;
struct Data : Along<Grid> {};
struct Model : Along<Grid> {};
using DataRanks = dist::Ranks<Data, Cpu>;
using ModelRanks = dist::Ranks<Model, Cpu>;

void f(dist::Optimizer<optim::Sgd<float, Cpu>, Data, Model>& sgd, const DataRanks& data,
       [[maybe_unused]] const ModelRanks& model) {
#ifdef LOCUS_MUST_FAIL
  sgd.step(data);
#else
  sgd.step(data, model);
#endif
}
