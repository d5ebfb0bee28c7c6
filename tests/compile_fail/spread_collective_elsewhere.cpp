// A collective of ranks that meet on another device.
// expect-error(clang): ranks.all_gather.x.: the tensor is on Cpu, the mesh is on Cuda; move the tensor with .to<Cuda>
// expect-error(clang19): ranks.all_gather.x.: the tensor is on Cpu, the mesh is on Cuda; move the tensor with .to<Cuda>
// expect-error(gcc): tensor_is_on<locus::Cpu>.*mesh_is_on<locus::Cuda>.*move_the_tensor_or_make_the_mesh
// expect-error(nvcc): tensor_is_on<locus::Cpu>.*mesh_is_on<locus::Cuda>
// because: NCCL reduces and gathers on GPUs alone
#include <locus/distributed/spread.hpp>
#include <locus/locus.hpp>

using namespace locus;
struct Grid;
struct Data : Along<Grid> {};

auto f(const Over<Tensor<float>, Varying<Data>>& on_cpu, const Over<Tensor<float, Cuda>, Varying<Data>>& on_cuda,
       const dist::Ranks<Data, Cuda>& data) {
#ifdef LOCUS_MUST_FAIL
  (void)on_cuda;
  return data.all_gather(on_cpu, 0);
#else
  (void)on_cpu;
  return data.all_gather(on_cuda, 0);
#endif
}
