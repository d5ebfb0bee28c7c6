// Batch normalization with a residual on another device.
// because: the residual is added where the input is normalized
// expect-error(gcc): input_is_on<locus::Cpu>.*residual_is_on<locus::Cuda>
// expect-error(clang): the input is on Cpu, the residual, weights or statistics are on Cuda
// expect-error(nvcc): residual_is_on<locus::Cuda>
#include <locus/locus.hpp>

using namespace locus;

auto mistake(const nn::BatchNorm2d<float, Cpu>& layer, const Tensor<float>& x, const Tensor<float, Cuda>& residual) {
  const RunningStatistics<float, Cpu> running{layer.running_mean.value(), layer.running_var.value(), {}};
#ifdef LOCUS_MUST_FAIL
  return batch_norm(x, running, layer.weight, layer.bias, residual);
#else
  return batch_norm(x, running, layer.weight, layer.bias, residual.to<Cpu>());
#endif
}
