// A mask that would collect a gradient.
// because: attention computes no gradient of a term added to its scores
// expect-error(gcc): source_records_gradients.*take_its_value
// expect-error(clang): the mask records gradients, which would be lost; take its value, x.value\(\)
// expect-error(nvcc): source_records_gradients
#include <locus/autograd/traced.hpp>
#include <locus/ops/attention.hpp>

using namespace locus;

auto attended(const Traced<float>& q, const Traced<float>& bias) {
#ifdef LOCUS_MUST_FAIL
  return scaled_dot_product_attention(q, q, q, {.mask = bias});
#else
  return scaled_dot_product_attention(q, q, q, {.mask = bias.value()});
#endif
}
