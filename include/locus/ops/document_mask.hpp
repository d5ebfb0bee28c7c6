#pragma once
// Masks of attention within documents that share a sequence. Not part of locus/locus.hpp.

#include <locus/expr/functions/comparison.hpp>
#include <locus/ops/attention.hpp>

namespace locus { inline namespace LOCUS_ABI {

/// Whether two tokens are of the same document, by the number of each token's document: a block-diagonal mask.
/// shape: (..., length) -> (..., length, length) of bool     cost: one launch
/// throws ShapeError for a scalar
///
///     const auto mask = document_mask(documents);                                              // (batch, l, l)
///     auto y = scaled_dot_product_attention(q, k, v, {.mask = mask.unsqueeze(1), .is_causal = true});
///     auto z = attention(x, {.attn_mask = !mask, .is_causal = true});   // nn::MultiheadAttention: true is left out
template <IntegerDType T, Device D>
[[nodiscard]] Tensor<bool, D> document_mask(const Tensor<T, D>& documents) {
  if (documents.rank() < 1)
    fail<ShapeError>({"document_mask: documents of shape ", documents.shape(), "; expected (..., length)"});
  return documents.unsqueeze(-1) == documents.unsqueeze(-2);
}

}}  // namespace locus::LOCUS_ABI
