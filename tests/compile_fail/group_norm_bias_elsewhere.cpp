// Group normalization whose bias lives on another device.
// because: weight and bias enter the launch that writes the result
// expect-error(gcc): input_is_on<locus::Cpu>.*bias_is_on<locus::Cuda>
// expect-error(clang): group_norm.*the input is on Cpu, the bias is on Cuda
// expect-error(nvcc): bias_is_on<locus::Cuda>
#include <locus/cuda/backend.hpp>
#include <locus/ops/group_norm.hpp>

using namespace locus;

auto normalized(const Tensor<float>& x, const Tensor<float>& w, const Tensor<float, Cuda>& b) {
#ifdef LOCUS_MUST_FAIL
  return group_norm(x, 8, w, b);
#else
  return group_norm(x, 8, w, b.to<Cpu>());
#endif
}
