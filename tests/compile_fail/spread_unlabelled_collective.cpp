// A collective of a tensor that does not say how it is spread.
// expect-error(clang): ranks.all_reduce.x.: a tensor does not say how it is spread over ranks; say mesh.label
// expect-error(clang19): ranks.all_reduce.x.: a tensor does not say how it is spread over ranks; say mesh.label
// expect-error(gcc): a_tensor_does_not_say_how_it_is_spread_over_ranks
// expect-error(nvcc): a_tensor_does_not_say_how_it_is_spread_over_ranks
#include <locus/distributed/spread.hpp>
#include <locus/locus.hpp>

using namespace locus;
struct Grid;
struct Data : Along<Grid> {};
struct Model : Along<Grid> {};
using DataRanks = dist::Ranks<Data, Cpu>;

auto f(Tensor<float> x, const DataRanks& data) {
#ifdef LOCUS_MUST_FAIL
  return data.all_reduce(x);
#else
  return data.communicator().all_reduced(x);
#endif
}
