// Keys on another device than the queries.
// because: queries and keys meet in a product, where both lie
// expect-error(gcc): left_is_on<locus::Cpu>.*right_is_on<locus::Cuda>
// expect-error(clang): scaled_dot_product_attention.*left operand is on Cpu, right operand is on Cuda
// expect-error(nvcc): right_is_on<locus::Cuda>
#include <locus/cuda/backend.hpp>
#include <locus/ops/attention.hpp>

using namespace locus;

auto attended(const Tensor<float>& q, const Tensor<float, Cuda>& k, const Tensor<float>& v) {
#ifdef LOCUS_MUST_FAIL
  return scaled_dot_product_attention(q, k, v, {.is_causal = true});
#else
  return scaled_dot_product_attention(q, k.to<Cpu>(), v, {.is_causal = true});
#endif
}
