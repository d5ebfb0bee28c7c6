// Layer normalization whose weight lives on another device.
// because: the launch that normalizes a row reads the weight
// expect-error(gcc): input_is_on<locus::Cpu>.*weights_are_on<locus::Cuda>
// expect-error(clang): the input is on Cpu, the weights are on Cuda
// expect-error(nvcc): weights_are_on<locus::Cuda>
#include <locus/cuda/backend.hpp>
#include <locus/ops/layer_norm.hpp>

using namespace locus;

auto layer(const Tensor<float>& x, const Tensor<float, Cuda>& w, const Tensor<float>& b) {
#ifdef LOCUS_MUST_FAIL
  return layer_norm(x, {64}, w, b);
#else
  return layer_norm(x, {64}, w.to<Cpu>(), b);
#endif
}
