#pragma once
// The training text of the text example: bytes, read in windows at random positions.

#include "text_options.hpp"

#include <locus/core/rng.hpp>
#include <locus/data/dataset.hpp>

#include <string>
#include <string_view>
#include <vector>

/// The bytes of a file, or of a built-in text if the path is empty.
/// throws locus::DataError for a file that cannot be read or has fewer than context + 1 bytes
[[nodiscard]] std::string read_text(const std::string& path, std::int64_t context);

/// Windows of `context` bytes at random positions, and for each byte the next byte. Window i depends only on the seed,
/// the epoch and i.
struct Windows {
  std::string_view text;  ///< of more bytes than a window
  std::int64_t count, context;
  std::uint64_t seed;
  bool is_fixed = false;  ///< the same in every epoch
  std::uint64_t epoch = 0;

  [[nodiscard]] std::int64_t size() const { return count; }
  [[nodiscard]] locus::data::Fields<std::int64_t, std::int64_t> fields() const { return {{context}, {context}}; }
  [[nodiscard]] Windows at_epoch(std::uint64_t number) const {
    return {text, count, context, seed, is_fixed, is_fixed ? 0 : number};
  }
  void write(std::int64_t i, locus::Span<std::int64_t> bytes, locus::Span<std::int64_t> next) const;
};

/// Training and validation text: all but the last tenth, and the last tenth. Both are the whole text if a part has
/// fewer than context + 1 bytes.
struct DividedText {
  std::string_view train, valid;
};
[[nodiscard]] DividedText divided(std::string_view text, std::int64_t context);

/// The prompt of the options, or the first word of the text, of at least one byte.
[[nodiscard]] std::string prompt_of(const std::string& text, const TextOptions& options);

/// The last bytes of a text, at most `context`, as numbers.
[[nodiscard]] std::vector<std::int64_t> last_bytes(std::string_view text, std::int64_t context);

/// Replaces control characters other than new lines and tabs by "?", since a terminal could obey them.
[[nodiscard]] std::string printable(std::string text);

/// A hash of the text and of the options that affect training.
[[nodiscard]] std::int64_t fingerprint(std::string_view text, const TextOptions& options);
/// throws locus::ArgumentError if the fingerprint in the checkpoint differs from the fingerprint of this run
void require_same_run(const TextOptions& options, std::int64_t saved, std::int64_t here);
