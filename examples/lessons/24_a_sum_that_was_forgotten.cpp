// Lesson 24: a sum that was forgotten
//
// INTENDED TO FAIL. This file does not compile until you have solved the lesson; read the compiler's first error line.
//
// Goal: forward() returns x w, and a backward pass from the mean of all ranks' losses leaves its gradient in w, as with
// DistributedDataParallel. Each rank has samples x of its own; their type calls them Varying. The weights w are the
// same on all ranks: Invariant, the state of a value whose type names none.
//
// In PyTorch a script that calls model(x) in place of ddp_model(x), or trains a parameter that the wrapper does not
// know, runs without an error. Each rank steps along the gradient of its own samples, and the ranks' weights drift
// apart. Here the sum over ranks belongs to the values: a parameter that is the same on all ranks does not meet samples
// that differ until its use says that the ranks' gradients are summed.
#include <locus/distributed/spread/functions.hpp>
#include <locus/distributed/spread/ranks.hpp>
#include <locus/ops/matmul.hpp>

using namespace locus;

struct Grid;                   // names a mesh of ranks
struct Data : Along<Grid> {};  // its axis: the ranks along it have other samples

using Samples = Over<Traced<float>, Varying<Data>>;

struct Regression {
  const dist::Ranks<Data, Cpu>& data;
  Over<Parameter<float>> w;

  auto forward(const Samples& x) const {
    return matmul(x, w);  // <- mend this
  }
};
