#pragma once
// Documents that share a sequence of tokens, in the training of language models.

#include <locus/ops/document_mask.hpp>

namespace locus { inline namespace LOCUS_ABI { namespace models {

/// The documents of packed sequences, as data::PackedTokens gives them. A member without memory has its default.
///
///     for (auto [tokens, next, documents, positions] : data::loader<D>(packed, {.batch_size = 4}))
///       model.loss(trace(tokens), next, {}, {.documents = documents, .positions = positions}).backward();
template <class D>
struct Packing {
  Tensor<std::int64_t, D> documents = {};  ///< (batch, length): a token attends to its own document alone; to all
  Tensor<std::int64_t, D> positions = {};  ///< (batch, length) or (length,); 0, 1, 2, ...
};

namespace detail {
/// throws ShapeError unless the members fit tokens (batch, length)
template <class D>
void require_packing(const char* model, const Shape& tokens, const Packing<D>& packing) {
  const Shape &documents = packing.documents.shape(), &positions = packing.positions.shape();
  if (packing.documents.buffer() && !(documents == tokens))
    fail<ShapeError>({model, ": .documents of shape ", documents, "; expected ", tokens, ", as the tokens"});
  if (packing.positions.buffer() && !(positions == tokens || positions == Shape{tokens[1]}))
    fail<ShapeError>({model, ": .positions of shape ", positions, "; expected ", tokens, " or ", Shape{tokens[1]}});
}
/// The mask of the scores (batch, heads, length, length), or none.
template <class T, class D>
[[nodiscard]] AttentionMask<T, D> mask_of(const Packing<D>& packing) {
  if (!packing.documents.buffer()) return {};
  return document_mask(packing.documents).unsqueeze(1);
}
}  // namespace detail

}}}  // namespace locus::LOCUS_ABI::models
