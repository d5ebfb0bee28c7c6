// A sum over ranks that a model of ranks would average.
// expect-error(clang): model.backward.loss.: the loss is Partial, a part of a sum over ranks, and would be averaged; say loss.backward
// expect-error(clang19): model.backward.loss.: the loss is Partial, a part of a sum over ranks, and would be averaged; say loss.backward
// expect-error(gcc): the_loss_is_Partial_a_part_of_a_sum_over_ranks_and_would_be_averaged.*say_loss_backward
// expect-error(nvcc): the_loss_is_Partial_a_part_of_a_sum_over_ranks_and_would_be_averaged.*say_loss_backward
// because: a Partial loss is a part of one sum, and the average over ranks would divide that by their number
#include <locus/distributed/spread.hpp>
#include <locus/locus.hpp>

using namespace locus;
struct Grid;
struct Data : Along<Grid> {};
struct Model : Along<Grid> {};
using Parallel = dist::SpreadModel<dist::Distributed<nn::Linear<float, Cpu>>, Data>;
template <class... S>
using Loss = Over<Traced<float, Cpu>, S...>;

void f(const Parallel& net, Loss<Partial<Data>> loss) {
#ifdef LOCUS_MUST_FAIL
  net.backward(loss);
#else
  loss.backward();
#endif
}
