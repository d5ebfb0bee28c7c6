// A sum over ranks, as a batch of a model of ranks.
// expect-error(clang): model.x.: x is Partial and the model of a sum is not the sum of the model; say ranks.all_reduce
// expect-error(clang19): model.x.: x is Partial and the model of a sum is not the sum of the model; say ranks.all_reduce
// expect-error(gcc): x_is_Partial_and_the_model_of_a_sum_is_not_the_sum_of_the_model.*say_ranks_all_reduce
// expect-error(nvcc): x_is_Partial_and_the_model_of_a_sum_is_not_the_sum_of_the_model.*say_ranks_all_reduce
#include <locus/distributed/spread.hpp>
#include <locus/locus.hpp>

using namespace locus;
struct Grid;
struct Data : Along<Grid> {};
struct Model : Along<Grid> {};
using Parallel = dist::SpreadModel<dist::Distributed<nn::Linear<float, Cpu>>, Data>;
template <class... S>
using Value = Over<Tensor<float>, S...>;

auto f(const Parallel& net, Value<Partial<Data>> x, const dist::Ranks<Data, Cpu>& data) {
#ifdef LOCUS_MUST_FAIL
  return net(trace(x));
#else
  return net(trace(data.reduce_scatter(x, 0)));
#endif
}
