// A batch of a model of ranks that is spread along another axis, too.
// expect-error(clang): model.x.: the batch is spread along another axis than the model, and nobody would sum gradients along it
// expect-error(clang19): model.x.: the batch is spread along another axis than the model, and nobody would sum gradients along it
// expect-error(gcc): the_batch_is_spread_along_another_axis_than_the_model_and_nobody_would_sum_gradients_along_it
// expect-error(nvcc): the_batch_is_spread_along_another_axis_than_the_model_and_nobody_would_sum_gradients_along_it
#include <locus/distributed/spread.hpp>
#include <locus/locus.hpp>

using namespace locus;
struct Grid;
struct Data : Along<Grid> {};
struct Model : Along<Grid> {};
using Parallel = dist::SpreadModel<dist::Distributed<nn::Linear<float, Cpu>>, Data>;
template <class... S>
using Value = Over<Tensor<float>, S...>;

auto f(const Parallel& net, Value<Varying<Data>, Varying<Model>> x, const dist::Ranks<Model, Cpu>& model) {
#ifdef LOCUS_MUST_FAIL
  return net(trace(x));
#else
  return net(trace(model.all_gather<Invariant>(x, 0)));
#endif
}
