#pragma once
// The training text of the text example: tokens, read in windows at random positions. The tokenizer is compiled in
// corpus.cpp alone.

#include "text_options.hpp"

#include <locus/core/rng.hpp>
#include <locus/data/dataset.hpp>

#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace locus { inline namespace LOCUS_ABI { namespace text {
class Tokenizer;
}}}  // namespace locus::LOCUS_ABI::text

using Tokens = std::vector<std::int64_t>;

/// The bytes of a file, or of a built-in text if the path is empty.
/// throws locus::DataError for a file that cannot be read
[[nodiscard]] std::string read_text(const std::string& path);

/// Text as tokens: bytes, or the tokens of --tokenizer or --train-tokenizer.
class Alphabet {
 public:
  /// Reads the tokenizer, or learns it from the text and writes it to --tokenizer, if that is given.
  /// throws locus::DataError for a file that is no tokenizer
  Alphabet(const TextOptions& options, std::string_view text);

  [[nodiscard]] std::int64_t size() const;
  [[nodiscard]] const char* unit() const { return tokenizer_ ? "tokens" : "bytes"; }
  [[nodiscard]] Tokens encode(std::string_view text) const;
  /// Writes the tokenizer into a folder, which is made if it is missing. throws locus::ArgumentError for bytes;
  /// locus::Error where that fails
  void save(const std::string& folder) const;
  /// Control characters but new lines and tabs become "?", since a terminal could obey them.
  [[nodiscard]] std::string printable(const Tokens& tokens) const;

 private:
  std::shared_ptr<const locus::text::Tokenizer> tokenizer_;  // null: bytes
};

/// Windows of `context` tokens at random positions, and for each token the next one. Window i depends only on the seed,
/// the epoch and i.
struct Windows {
  locus::Span<const std::int64_t> tokens;  ///< more than a window
  std::int64_t count, context;
  std::uint64_t seed;
  bool is_fixed = false;  ///< the same in every epoch
  std::uint64_t epoch = 0;

  [[nodiscard]] std::int64_t size() const { return count; }
  [[nodiscard]] locus::data::Fields<std::int64_t, std::int64_t> fields() const { return {{context}, {context}}; }
  [[nodiscard]] Windows at_epoch(std::uint64_t number) const {
    return {tokens, count, context, seed, is_fixed, is_fixed ? 0 : number};
  }
  void write(std::int64_t i, locus::Span<std::int64_t> window, locus::Span<std::int64_t> next) const;
};

/// The tokens of a text.
/// throws locus::DataError for fewer than a window and the token after it
[[nodiscard]] Tokens tokens_of(std::string_view text, const Alphabet& alphabet, const TextOptions& options);

/// Training and validation tokens: all but the last tenth, and the last tenth. Both are all tokens if a part has fewer
/// than context + 1.
struct DividedTokens {
  locus::Span<const std::int64_t> train, valid;
};
[[nodiscard]] DividedTokens divided(const Tokens& tokens, std::int64_t context);

/// The prompt of the options, or the first word of the text, of at least one byte.
[[nodiscard]] std::string prompt_of(const std::string& text, const TextOptions& options);

/// The last tokens, at most `count`.
[[nodiscard]] Tokens last_of(const Tokens& tokens, std::int64_t count);

/// A hash of the tokens and of the options that affect training.
[[nodiscard]] std::int64_t fingerprint(const Tokens& tokens, const TextOptions& options);
/// throws locus::ArgumentError if the fingerprint in the checkpoint differs from the fingerprint of this run
void require_same_run(const TextOptions& options, std::int64_t saved, std::int64_t here);
