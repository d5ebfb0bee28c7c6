#pragma once
// Windows of a text of tokens, for training a language model.

#include <locus/data/dataset.hpp>
#include <locus/data/files/token_file.hpp>

namespace locus { inline namespace LOCUS_ABI { namespace data {

struct TokenWindowsOptions {
  std::int64_t length = 1024;                       ///< tokens of a window
  std::int64_t vocab_size = std::int64_t{1} << 32;  ///< tokens are below this
};

/// The tokens of files in windows that follow one another, also from file to file: sample i has the tokens from
/// i * length on, and for each the next one. The tokens behind the last whole window are left out. BlockSampler
/// shuffles windows of a large file in pieces.
/// throws DataError, from the loop over a loader, for a token beyond the vocabulary, naming file, position and token
///
///     const data::TokenWindows windows{data::TokenFile("train.bin"), {.length = 1024, .vocab_size = 50257}};
///     for (auto [tokens, next] : data::loader<D>(windows, {.batch_size = 4, .shuffle = true})) ...   // (4, 1024) each
class TokenWindows {
 public:
  /// Tensors of int64, (batch, length).
  template <class D>
  struct Batch {
    Tensor<std::int64_t, D> tokens, next;
  };

  /// throws ArgumentError for options below 1; DataError for a text without a whole window and the token behind it
  explicit TokenWindows(TokenFiles files, const TokenWindowsOptions& options = {})
      : files_(std::move(files)), options_(options) {
    const auto& [length, vocab_size] = options_;
    if (length < 1) fail<ArgumentError>({"TokenWindows: length is ", length, "; expected 1 or more tokens"});
    if (vocab_size < 1) fail<ArgumentError>({"TokenWindows: vocab_size is ", vocab_size, "; expected 1 or more"});
    if (size() == 0)
      fail<DataError>({"'", files_.files().front().path(), "' has ", files_.size(), " tokens",
                       files_.files().size() > 1 ? ", with the files after it" : "", "; expected ", length,
                       " or more, and a last one to predict: take shorter windows or another file"});
  }

  [[nodiscard]] const TokenFiles& files() const { return files_; }
  [[nodiscard]] const TokenWindowsOptions& options() const { return options_; }
  [[nodiscard]] std::int64_t size() const { return files_.size() > 0 ? (files_.size() - 1) / options_.length : 0; }
  [[nodiscard]] Fields<std::int64_t, std::int64_t> fields() const { return {{options_.length}, {options_.length}}; }
  void write(std::int64_t i, Span<std::int64_t> tokens, Span<std::int64_t> next) const {
    detail::require_sample(i, size());
    const std::int64_t first = i * options_.length;
    files_.read(first, tokens.first(1), options_.vocab_size);
    files_.read(first + 1, next, options_.vocab_size);
    for (std::size_t at = 1; at < tokens.size(); ++at) tokens[at] = next[at - 1];
  }

 private:
  TokenFiles files_;
  TokenWindowsOptions options_;
};

}}}  // namespace locus::LOCUS_ABI::data
