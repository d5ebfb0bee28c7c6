// A convolution of volumes whose bias lives on another device.
// because: the bias is added to the product, on its device
// expect-error(gcc): input_is_on<locus::Cpu>.*bias_is_on<locus::Cuda>
// expect-error(clang): conv3d.*the input is on Cpu, the bias is on Cuda
// expect-error(nvcc): bias_is_on<locus::Cuda>
#include <locus/locus.hpp>
#include <locus/ops/conv3d.hpp>

using namespace locus;

auto mistake(const Tensor<float>& x, const Tensor<float>& w, const Tensor<float, Cuda>& b) {
#ifdef LOCUS_MUST_FAIL
  return conv3d(x, w, b);
#else
  return conv3d(x, w, b.to<Cpu>());
#endif
}
