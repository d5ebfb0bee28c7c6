// The weights of a language model's last layer on another device than the vectors that it maps to logits.
// because: the logits of a chunk of rows are one product, of vectors and weights in one place
// expect-error(gcc): input_is_on<locus::Cuda>.*weights_are_on<locus::Cpu>
// expect-error(clang): linear_cross_entropy\(x, weight, targets\): the input is on Cuda, the weights are on Cpu
// expect-error(nvcc): weights_are_on<locus::Cpu>
#include <locus/cuda/backend.hpp>
#include <locus/ops/linear_cross_entropy.hpp>

using namespace locus;

auto loss(const Tensor<float, Cuda>& x, const Tensor<float>& weight, const Tensor<std::int64_t, Cuda>& next) {
#ifdef LOCUS_MUST_FAIL
  return linear_cross_entropy(x, weight, next, {.label_smoothing = 0.1});
#else
  return linear_cross_entropy(x, weight.to<Cuda>(), next, {.label_smoothing = 0.1});
#endif
}
