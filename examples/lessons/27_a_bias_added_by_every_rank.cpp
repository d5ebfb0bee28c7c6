// Lesson 27: a bias that every rank adds
//
// INTENDED TO FAIL. This file does not compile until you have solved the lesson; read the compiler's first error line.
//
// Goal: row_linear() returns x w^T + b, a linear layer that is divided among the ranks along Model. Each rank has some
// columns of x and of the weight w; the sum of the ranks' products is the whole product. The bias b is the same on all
// ranks, and so is the result: Invariant.
//
// In PyTorch dist.all_reduce(F.linear(x, w, b)) runs without an error on each rank: n ranks add the bias, and the sum
// has it n times. Training goes on, since a bias adapts; but a checkpoint means something else on another number of
// ranks, and the first step from a trained layer is off. Here partial() says that the ranks' products are parts of a
// sum. Beside a part of a sum, a value that is the same on all ranks would be added once for each.
#include <locus/distributed/spread/functions.hpp>
#include <locus/distributed/spread/ranks.hpp>
#include <locus/expr/operators.hpp>
#include <locus/ops/linear.hpp>

using namespace locus;

struct Grid;                    // names a mesh of ranks
struct Model : Along<Grid> {};  // its axis: the ranks along it have other features

using Columns = Over<Traced<float>, Varying<Model>>;
using Weight = Over<Parameter<float>, Varying<Model>>;
using Bias = Over<Parameter<float>>;

auto row_linear(const dist::Ranks<Model, Cpu>& model, const Columns& x, const Weight& w, const Bias& b) {
  return model.partial(linear(x, w)) + b;  // <- mend this
}
