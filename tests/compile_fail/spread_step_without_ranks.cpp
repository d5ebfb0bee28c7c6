// A step that would not sum gradients.
// expect-error(clang): optimizer.step..: gradients are Partial along axes of this optimizer; say step.ranks
// expect-error(clang19): optimizer.step..: gradients are Partial along axes of this optimizer; say step.ranks
// expect-error(gcc): gradients_are_Partial_along_axes_of_this_optimizer.*step_ranks
// expect-error(nvcc): gradients_are_Partial_along_axes_of_this_optimizer.*step_ranks
#include <locus/distributed/spread.hpp>
#include <locus/locus.hpp>

using namespace locus;
struct Grid;
struct Data : Along<Grid> {};
struct Model : Along<Grid> {};
using DataRanks = dist::Ranks<Data, Cpu>;

void f(dist::Optimizer<optim::Sgd<float, Cpu>, Data>& sgd, [[maybe_unused]] const DataRanks& data) {
#ifdef LOCUS_MUST_FAIL
  sgd.step();
#else
  sgd.step(data);
#endif
}
