// Indices on the host, the table on the GPU.
// because: a lookup reads indices where the table is
// expect-error(gcc): tensor_is_on<locus::Cuda>.*indices_are_on<locus::Cpu>
// expect-error(clang): the table is on Cuda, the indices are on Cpu
// expect-error(nvcc): indices_are_on<locus::Cpu>
#include <locus/cuda/backend.hpp>
#include <locus/ops/index.hpp>

using namespace locus;

auto words(const Tensor<float, Cuda>& table, const Tensor<std::int64_t>& indices) {
#ifdef LOCUS_MUST_FAIL
  return embedding(table, indices);
#else
  return embedding(table, indices.to<Cuda>());
#endif
}
