// A learned slope that lives on another device.
// because: the launch that reads an element reads its slope
// expect-error(gcc): input_is_on<locus::Cpu>.*weights_are_on<locus::Cuda>
// expect-error(clang): prelu.*the input is on Cpu, the weights are on Cuda
// expect-error(nvcc): weights_are_on<locus::Cuda>
#include <locus/cuda/backend.hpp>
#include <locus/ops/prelu.hpp>

using namespace locus;

auto activated(const Tensor<float>& x, const Tensor<float, Cuda>& slopes) {
#ifdef LOCUS_MUST_FAIL
  return prelu(x, slopes);
#else
  return prelu(x, slopes.to<Cpu>());
#endif
}
