// The backward pass of a loss that differs between ranks.
// expect-error(clang): loss.backward..: the loss is Varying and each rank has another; say ranks.partial.loss. for their sum, or ranks.partial.loss / ranks.size... for the mean
// expect-error(clang19): loss.backward..: the loss is Varying and each rank has another; say ranks.partial.loss. for their sum, or ranks.partial.loss / ranks.size... for the mean
// expect-error(gcc): the_loss_is_Varying_and_each_rank_has_another
// expect-error(nvcc): the_loss_is_Varying_and_each_rank_has_another
// because: whether the ranks' losses are added or averaged is not said: gradients would be those of the sum
#include <locus/distributed/spread.hpp>
#include <locus/locus.hpp>

using namespace locus;
struct Grid;
struct Data : Along<Grid> {};
struct Model : Along<Grid> {};
template <class... S>
using Recorded = Over<Traced<float>, S...>;
using DataRanks = dist::Ranks<Data, Cpu>;

void f(Recorded<Varying<Data>> loss, [[maybe_unused]] const DataRanks& data) {
#ifdef LOCUS_MUST_FAIL
  loss.backward();
#else
  data.partial(loss).backward();
#endif
}
