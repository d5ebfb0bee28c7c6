// A tensor on another device than its mesh.
// expect-error(clang): the tensor is on Cpu, the mesh is on Cuda
// expect-error(clang19): the tensor is on Cpu, the mesh is on Cuda
// expect-error(gcc): tensor_is_on<.*Cpu>.*mesh_is_on<.*Cuda>
// expect-error(nvcc): tensor_is_on<.*Cpu>.*mesh_is_on<.*Cuda>
#include <locus/distributed/spread.hpp>
#include <locus/locus.hpp>

using namespace locus;
struct Grid;
struct Data : Along<Grid> {};

auto f(const Tensor<float>& x, const dist::Mesh<Cuda, Data>& mesh) {
#ifdef LOCUS_MUST_FAIL
  return mesh.label<Varying<Data>>(x);
#else
  return mesh.label<Varying<Data>>(x.to<Cuda>());
#endif
}
