// A mask of 1 and 0 of int64, as Hugging Face's tokenizers make.
// because: numbers would be added to the scores; a mask of bool says which keys count
// expect-error(gcc): mask_of_integers.*write_mask_not_equal_0
// expect-error(clang): the mask holds integers, which would be added to the scores; compare it with 0, as mask != 0
// expect-error(nvcc): mask_of_integers
#include <locus/ops/attention.hpp>

using namespace locus;

auto attended(const Tensor<float>& q, const Tensor<float>& k, const Tensor<std::int64_t>& mask) {
#ifdef LOCUS_MUST_FAIL
  return scaled_dot_product_attention(q, k, k, {.mask = mask});
#else
  return scaled_dot_product_attention(q, k, k, {.mask = (mask != 0).eval()});
#endif
}
