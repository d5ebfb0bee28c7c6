// A mask on another device than the scores.
// because: each score is masked where it is computed
// expect-error(gcc): source_is_on<locus::Cuda>.*target_is_on<locus::Cpu>
// expect-error(clang): the mask is on Cuda, the scores are on Cpu; copy with .to<Cpu>\(\)
// expect-error(nvcc): target_is_on<locus::Cpu>
#include <locus/cuda/backend.hpp>
#include <locus/ops/attention.hpp>

using namespace locus;

auto attended(const Tensor<float>& q, const Tensor<float>& k, const Tensor<bool, Cuda>& mask) {
#ifdef LOCUS_MUST_FAIL
  return scaled_dot_product_attention(q, k, k, {.mask = mask});
#else
  return scaled_dot_product_attention(q, k, k, {.mask = mask.to<Cpu>()});
#endif
}
