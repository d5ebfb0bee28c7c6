// Lesson 25: a gradient counted n times
//
// INTENDED TO FAIL. This file does not compile until you have solved the lesson; read the compiler's first error line.
//
// Goal: backward() goes back from the mean of the losses of all n ranks, and returns this mean, to be printed.
// Gradients are those of the mean, for any number of ranks.
//
// In PyTorch torch.distributed.nn.functional.all_reduce(loss / n).backward() runs without an error. The backward pass
// of the sum is a sum over ranks, too: it adds the 1 from which each of n ranks starts, and every gradient is n times
// too large. Adam hides the factor; with SGD the learning rate depends on the number of ranks, and so does clipping.
// Here the loss of each rank is Varying. partial() calls them the parts of one sum, Partial, and all_reduce() makes the
// sum, which each rank has then: it is Replicated, n copies of one number, and backward() would start from each of
// them.
#include <locus/distributed/spread/functions.hpp>
#include <locus/distributed/spread/ranks.hpp>
#include <locus/expr/operators.hpp>

using namespace locus;

struct Grid;                   // names a mesh of ranks
struct Data : Along<Grid> {};  // its axis: the ranks along it have other samples

using Loss = Over<Traced<float>, Varying<Data>>;

float backward(const dist::Ranks<Data, Cpu>& data, const Loss& loss) {
  const auto parts = data.partial(loss / data.size());
  data.all_reduce(parts).backward();  // <- mend this
  return data.all_reduce(parts.value()).item();
}
