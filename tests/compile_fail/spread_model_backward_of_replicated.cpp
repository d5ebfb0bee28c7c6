// A loss that is the same on all ranks, of a model of ranks.
// expect-error(clang): model.backward.loss.: the loss is the same on all ranks and would count once for each; give the Varying loss of each rank
// expect-error(clang19): model.backward.loss.: the loss is the same on all ranks and would count once for each; give the Varying loss of each rank
// expect-error(gcc): the_loss_is_the_same_on_all_ranks_and_would_count_once_for_each.*give_the_Varying_loss_of_each_rank
// expect-error(nvcc): the_loss_is_the_same_on_all_ranks_and_would_count_once_for_each.*give_the_Varying_loss_of_each_rank
#include <locus/distributed/spread.hpp>
#include <locus/locus.hpp>

using namespace locus;
struct Grid;
struct Data : Along<Grid> {};
struct Model : Along<Grid> {};
using Parallel = dist::SpreadModel<dist::Distributed<nn::Linear<float, Cpu>>, Data>;
template <class... S>
using Loss = Over<Traced<float, Cpu>, S...>;

void f(const Parallel& net, Loss<Replicated<Data>> mean_of_all, Loss<Varying<Data>> loss) {
#ifdef LOCUS_MUST_FAIL
  (void)loss, net.backward(mean_of_all);
#else
  (void)mean_of_all, net.backward(loss);
#endif
}
