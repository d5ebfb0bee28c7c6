// Elements put back to positions that live on another device.
// because: the device that writes the elements reads their positions
// expect-error(gcc): tensor_is_on<locus::Cuda>.*indices_are_on<locus::Cpu>
// expect-error(clang): max_unpool2d.*the tensor is on Cuda, the indices are on Cpu
// expect-error(nvcc): indices_are_on<locus::Cpu>
#include <locus/locus.hpp>
#include <locus/ops/pool_indices.hpp>

using namespace locus;

auto mistake(const Tensor<float, Cuda>& values, const Tensor<std::int64_t>& positions) {
#ifdef LOCUS_MUST_FAIL
  return max_unpool2d(values, positions, 2);
#else
  return max_unpool2d(values, positions.to<Cuda>(), 2);
#endif
}
