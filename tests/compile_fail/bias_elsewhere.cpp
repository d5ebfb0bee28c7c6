// A linear layer whose bias lives on another device.
// because: the bias is added in the epilogue of the product
// expect-error(gcc): input_is_on<locus::Cpu>.*bias_is_on<locus::Cuda>
// expect-error(clang): the input is on Cpu, the bias is on Cuda
// expect-error(nvcc): bias_is_on<locus::Cuda>
#include <locus/cuda/backend.hpp>
#include <locus/ops/linear.hpp>

using namespace locus;

auto layer(const Tensor<float>& x, const Tensor<float>& w, const Tensor<float, Cuda>& b) {
#ifdef LOCUS_MUST_FAIL
  return linear(x, w, b, functor::Relu{});
#else
  return linear(x, w, b.to<Cpu>(), functor::Relu{});
#endif
}
