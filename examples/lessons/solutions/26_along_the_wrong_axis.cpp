// Lesson 26: along the wrong axis
//
// Goal: product() returns x w. The ranks are a grid of two axes. Along Data they have other rows of x: other samples.
// Along Model they have other columns of x, and the rows of w that belong to these columns: other features. So each
// product is one part of a sum over Model.
//
// In PyTorch dist.all_reduce(y, group=data_group) is not an error: the process group is one of several variables, the
// shapes fit, and the samples of different ranks are added. Here a type names the axis along which it is a sum, and the
// collectives of another axis do not take it.
//
// hint: Along which axis have the ranks parts of one sum, and along which other samples?
// hint: The error message of g++ names the type X of the value, which is Partial along the axis to sum over.
#include <locus/distributed/spread/functions.hpp>
#include <locus/distributed/spread/mesh.hpp>
#include <locus/ops/matmul.hpp>

using namespace locus;

struct Grid;                    // names a mesh of ranks
struct Data : Along<Grid> {};   // an axis of it: the ranks along it have other samples
struct Model : Along<Grid> {};  // another one: the ranks along it have other features

using Mesh = dist::Mesh<Cpu, Data, Model>;
using Block = Over<Tensor<float>, Varying<Data>, Varying<Model>>;
using Weights = Over<Tensor<float>, Varying<Model>>;

auto product(const Mesh& mesh, const Block& x, const Weights& w) {
  const auto parts = mesh.along<Model>().partial(matmul(x, w));  // Varying<Data>, Partial<Model>
  return mesh.along<Model>().all_reduce(parts);
}
