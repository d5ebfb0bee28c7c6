// Batch normalization by running statistics on another device.
// because: every element is computed from the statistics of its channel
// expect-error(gcc): input_is_on<locus::Cpu>.*statistics_are_on<locus::Cuda>
// expect-error(clang): the input is on Cpu, the running statistics are on Cuda
// expect-error(nvcc): statistics_are_on<locus::Cuda>
#include <locus/locus.hpp>

using namespace locus;

auto mistake(const Tensor<float>& x, const RunningStatistics<float, Cuda>& running) {
#ifdef LOCUS_MUST_FAIL
  return batch_norm(x, running);
#else
  return batch_norm(x, RunningStatistics<float, Cpu>{running.mean.to<Cpu>(), running.var.to<Cpu>(), {}});
#endif
}
