// Targets that stayed on the host, while the model computes on the GPU.
// because: losses and gradients of a row are computed where its logits are
// expect-error(gcc): input_is_on<locus::Cuda>.*labels_are_on<locus::Cpu>
// expect-error(clang): linear_cross_entropy\(x, weight, targets\): the input is on Cuda, the targets are on Cpu
// expect-error(nvcc): labels_are_on<locus::Cpu>
#include <locus/cuda/backend.hpp>
#include <locus/ops/linear_cross_entropy.hpp>

using namespace locus;

auto loss(const Tensor<float, Cuda>& x, const Tensor<float, Cuda>& weight, const Tensor<std::int64_t>& next) {
#ifdef LOCUS_MUST_FAIL
  return linear_cross_entropy(x, weight, next);
#else
  return linear_cross_entropy(x, weight, next.to<Cuda>());
#endif
}
