// The backward pass of a loss that all ranks computed.
// expect-error(clang): loss.backward..: the loss is Replicated and the gradients of all ranks would be added
// expect-error(clang19): loss.backward..: the loss is Replicated and the gradients of all ranks would be added
// expect-error(gcc): the_loss_is_Replicated_and_the_gradients_of_all_ranks_would_be_added
// expect-error(nvcc): the_loss_is_Replicated_and_the_gradients_of_all_ranks_would_be_added
// because: the gradient of 1 would count once for each rank
#include <locus/distributed/spread.hpp>
#include <locus/locus.hpp>

using namespace locus;
struct Grid;
struct Data : Along<Grid> {};
struct Model : Along<Grid> {};
template <class... S>
using Recorded = Over<Traced<float>, S...>;
using DataRanks = dist::Ranks<Data, Cpu>;

void f(Recorded<Partial<Data>> loss, const DataRanks& data) {
#ifdef LOCUS_MUST_FAIL
  data.all_reduce(loss).backward();
#else
  data.all_reduce<Invariant>(loss).backward();
#endif
}
