// Images sampled at points that live on another device.
// because: each value is read and summed on one device
// expect-error(gcc): left_is_on<locus::Cpu>.*right_is_on<locus::Cuda>
// expect-error(clang): grid_sample.*the input is on Cpu, the grid is on Cuda
// expect-error(nvcc): right_is_on<locus::Cuda>
#include <locus/locus.hpp>
#include <locus/ops/grid_sample.hpp>

using namespace locus;

auto mistake(const Tensor<float>& images, const Tensor<float, Cuda>& grid) {
#ifdef LOCUS_MUST_FAIL
  return grid_sample(images, grid);
#else
  return grid_sample(images, grid.to<Cpu>());
#endif
}
