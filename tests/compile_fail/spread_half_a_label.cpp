// A label that leaves out an axis.
// expect-error(clang): an axis of the mesh is missing; say Varying, Replicated or Invariant of each
// expect-error(clang19): an axis of the mesh is missing; say Varying, Replicated or Invariant of each
// expect-error(gcc): an_axis_of_the_mesh_is_missing
// expect-error(nvcc): an_axis_of_the_mesh_is_missing
#include <locus/distributed/spread.hpp>
#include <locus/locus.hpp>

using namespace locus;
struct Grid;
struct Data : Along<Grid> {};
struct Model : Along<Grid> {};
using Both = dist::Mesh<Cpu, Data, Model>;

auto f(Tensor<float> t, const Both& mesh) {
#ifdef LOCUS_MUST_FAIL
  return mesh.label<Varying<Data>>(t);
#else
  return mesh.label<Varying<Data>, Replicated<Model>>(t);
#endif
}
