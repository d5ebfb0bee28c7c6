// Random numbers that do not say how they are along an axis.
// expect-error(clang): mesh.generator.*: an axis of the mesh is missing; say Varying, Replicated or Invariant of each
// expect-error(clang19): mesh.generator.*: an axis of the mesh is missing; say Varying, Replicated or Invariant of each
// expect-error(gcc): an_axis_of_the_mesh_is_missing.*in_mesh_generator_Varying
// expect-error(nvcc): an_axis_of_the_mesh_is_missing.*in_mesh_generator_Varying
#include <locus/distributed/spread.hpp>
#include <locus/locus.hpp>

using namespace locus;
struct Grid;
struct Data : Along<Grid> {};
struct Model : Along<Grid> {};

auto f(const dist::Mesh<Cpu, Data, Model>& mesh) {
#ifdef LOCUS_MUST_FAIL
  return mesh.generator<Varying<Data>>(1);
#else
  return mesh.generator<Varying<Data>, Invariant<Model>>(1);
#endif
}
