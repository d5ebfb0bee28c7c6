// A bias on another device than the vectors.
// because: the product adds the bias to the logits while they are on chip
// expect-error(gcc): input_is_on<locus::Cpu>.*bias_is_on<locus::Cuda>
// expect-error(clang): linear_cross_entropy\(x, weight, targets, bias\): the input is on Cpu, the bias is on Cuda
// expect-error(nvcc): bias_is_on<locus::Cuda>
#include <locus/cuda/backend.hpp>
#include <locus/ops/linear_cross_entropy.hpp>

using namespace locus;

auto loss(const Tensor<float>& x, const Tensor<float>& weight, const Tensor<std::int64_t>& next,
          const Tensor<float, Cuda>& bias) {
#ifdef LOCUS_MUST_FAIL
  return linear_cross_entropy(x, weight, next, bias);
#else
  return linear_cross_entropy(x, weight, next, bias.to<Cpu>());
#endif
}
