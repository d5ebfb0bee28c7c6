#pragma once
// Windows of a text of tokens, for training a language model.

#include <locus/data/dataset.hpp>
#include <locus/data/files/token_file.hpp>

namespace locus { inline namespace LOCUS_ABI { namespace data {

struct TokenWindowsOptions {
  std::int64_t length = 1024;       ///< tokens of a window
  std::int64_t vocab_size = 65536;  ///< tokens are below this
};

/// A file's tokens in windows that follow one another: sample i has the tokens from i * length on, and for each the
/// next one. The tokens behind the last whole window are left out.
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

  /// throws ArgumentError for options below 1; DataError for a file without a whole window and the token behind it
  explicit TokenWindows(TokenFile file, const TokenWindowsOptions& options = {})
      : file_(std::move(file)), options_(options) {
    const auto& [length, vocab_size] = options_;
    if (length < 1) fail<ArgumentError>({"TokenWindows: length is ", length, "; expected 1 or more tokens"});
    if (vocab_size < 1) fail<ArgumentError>({"TokenWindows: vocab_size is ", vocab_size, "; expected 1 or more"});
    if (size() == 0)
      fail<DataError>({"'", file_.path(), "' has ", file_.size(), " tokens; expected ", length, " or more, and a last ",
                       "one to predict: take shorter windows or another file"});
  }

  [[nodiscard]] const TokenFile& file() const { return file_; }
  [[nodiscard]] std::int64_t size() const { return file_.size() > 0 ? (file_.size() - 1) / options_.length : 0; }
  [[nodiscard]] Fields<std::int64_t, std::int64_t> fields() const { return {{options_.length}, {options_.length}}; }
  void write(std::int64_t i, Span<std::int64_t> tokens, Span<std::int64_t> next) const {
    detail::require_sample(i, size());
    file_.require_readable();
    const std::int64_t first = i * options_.length;
    std::int64_t token = checked(first);
    for (std::size_t at = 0; at < tokens.size(); ++at) {
      tokens[at] = token;
      next[at] = token = checked(first + static_cast<std::int64_t>(at) + 1);
    }
  }

 private:
  [[nodiscard]] std::int64_t checked(std::int64_t position) const {
    const std::int64_t token = file_[position];
    if (token >= options_.vocab_size) [[unlikely]]
      fail<DataError>({"'", file_.path(), "': token ", token, " at position ", position, " is beyond the vocabulary; ",
                       "expected 0 to ", options_.vocab_size - 1, ": is the file of another tokenizer?"});
    return token;
  }
  TokenFile file_;
  TokenWindowsOptions options_;
};

}}}  // namespace locus::LOCUS_ABI::data
