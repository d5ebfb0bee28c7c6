// A batch of a model of ranks that is the same on all of them.
// expect-error(clang): model.x.: the batch is the same on all ranks, and each would compute the same; give each rank its samples
// expect-error(clang19): model.x.: the batch is the same on all ranks, and each would compute the same; give each rank its samples
// expect-error(gcc): the_batch_is_the_same_on_all_ranks_and_each_would_compute_the_same.*give_each_rank_its_samples
// expect-error(nvcc): the_batch_is_the_same_on_all_ranks_and_each_would_compute_the_same.*give_each_rank_its_samples
// because: each rank would compute the gradient of one and the same batch
#include <locus/distributed/spread.hpp>
#include <locus/locus.hpp>

using namespace locus;
struct Grid;
struct Data : Along<Grid> {};
struct Model : Along<Grid> {};
using Parallel = dist::SpreadModel<dist::Distributed<nn::Linear<float, Cpu>>, Data>;
template <class... S>
using Value = Over<Tensor<float>, S...>;

auto f(const Parallel& net, const dist::Ranks<Data, Cpu>& data, Value<Replicated<Data>> x) {
#ifdef LOCUS_MUST_FAIL
  return net(trace(x));
#else
  return net(trace(data.part(x, 0)));
#endif
}
