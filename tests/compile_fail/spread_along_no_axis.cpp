// The ranks of an axis that the mesh has not.
// expect-error(clang): mesh.along<A>..: the mesh has no axis A; name one of its type
// expect-error(clang19): mesh.along<A>..: the mesh has no axis A; name one of its type
// expect-error(gcc): the_mesh_has_no_axis_A.*name_one_of_its_type
// expect-error(nvcc): the_mesh_has_no_axis_A.*name_one_of_its_type
#include <locus/distributed/spread.hpp>
#include <locus/locus.hpp>

using namespace locus;
struct Grid;
struct Data : Along<Grid> {};
struct Model : Along<Grid> {};

const auto& f(const dist::Mesh<Cpu, Data>& mesh) {
#ifdef LOCUS_MUST_FAIL
  return mesh.along<Model>();
#else
  return mesh.along<Data>();
#endif
}
