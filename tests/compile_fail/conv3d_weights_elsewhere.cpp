// A convolution of volumes whose weights live on another device.
// because: the product of windows and weights is computed on one device
// expect-error(gcc): input_is_on<locus::Cpu>.*weights_are_on<locus::Cuda>
// expect-error(clang): conv3d.*the input is on Cpu, the weights are on Cuda
// expect-error(nvcc): weights_are_on<locus::Cuda>
#include <locus/locus.hpp>
#include <locus/ops/conv3d.hpp>

using namespace locus;

auto mistake(const Tensor<float>& x, const Tensor<float, Cuda>& w) {
#ifdef LOCUS_MUST_FAIL
  return conv3d(x, w, {.padding = 1});
#else
  return conv3d(x, w.to<Cpu>(), {.padding = 1});
#endif
}
