#pragma once
// Windows of tokens that hold several documents, for training without attention from one to another. Not part of
// locus/locus.hpp.

#include <locus/data/sets/token_windows.hpp>

namespace locus { inline namespace LOCUS_ABI { namespace data {

struct PackedTokensOptions {
  std::int64_t length = 1024;                       ///< tokens of a window
  std::int64_t end_token = -1;                      ///< the last token of each document, which must be given
  std::int64_t vocab_size = std::int64_t{1} << 32;  ///< tokens are below this
  std::int64_t ignore_index = -100;  ///< label behind the end of a document, which cross_entropy leaves out
};

/// The windows of TokenWindows, whose documents are divided by a token at their end: each token with the number of its
/// document in the window and its position in that, both from 0. The token behind an end is of another document and is
/// not predicted: `next` is ignore_index there. A document that a window cuts goes on in the next window from position
/// 0. document_mask(documents), of ops/document_mask.hpp, keeps attention within documents.
/// throws as TokenWindows
///
///     const data::PackedTokens packed{data::TokenFile("train.bin"), {.length = 1024, .end_token = 50256}};
///     for (auto [tokens, next, documents, positions] : data::loader<D>(packed, {.batch_size = 4})) {
///       auto mask = document_mask(documents);       // (4, 1024, 1024)
///       ...
class PackedTokens {
 public:
  /// Tensors of int64, (batch, length).
  template <class D>
  struct Batch {
    Tensor<std::int64_t, D> tokens, next, documents, positions;
  };

  /// throws as TokenWindows; ArgumentError for an end_token beyond the vocabulary
  explicit PackedTokens(TokenFiles files, const PackedTokensOptions& options = {})
      : windows_(std::move(files), {.length = options.length, .vocab_size = options.vocab_size}), options_(options) {
    if (options.end_token < 0 || options.end_token >= options.vocab_size)
      fail<ArgumentError>({"PackedTokens: .end_token = ", options.end_token,
                           "; expected the token that ends each document, 0 to ", options.vocab_size - 1});
  }

  [[nodiscard]] const TokenFiles& files() const { return windows_.files(); }
  [[nodiscard]] std::int64_t size() const { return windows_.size(); }
  [[nodiscard]] Fields<std::int64_t, std::int64_t, std::int64_t, std::int64_t> fields() const {
    const Shape shape{options_.length};
    return {shape, shape, shape, shape};
  }
  void write(std::int64_t i, Span<std::int64_t> tokens, Span<std::int64_t> next, Span<std::int64_t> documents,
             Span<std::int64_t> positions) const {
    windows_.write(i, tokens, next);
    std::int64_t document = 0, position = 0;
    for (std::size_t at = 0; at < tokens.size(); ++at) {
      documents[at] = document, positions[at] = position++;
      if (tokens[at] != options_.end_token) continue;
      next[at] = options_.ignore_index;
      ++document, position = 0;
    }
  }

 private:
  TokenWindows windows_;
  PackedTokensOptions options_;
};

}}}  // namespace locus::LOCUS_ABI::data
