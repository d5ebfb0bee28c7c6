#pragma once
// The text that the text example learns: bytes, read by windows at random places.

#include "text_options.hpp"

#include <locus/core/rng.hpp>
#include <locus/data/dataset.hpp>

#include <string>
#include <string_view>
#include <vector>

/// The bytes of a file; of a built-in text, where the path is empty.
/// throws locus::DataError for a file that cannot be read or has fewer bytes than a window and one after it
[[nodiscard]] std::string read_text(const std::string& path, std::int64_t context);

/// Windows of `context` bytes at random places, and for each byte the one that follows it. Window i depends on the
/// seed, the epoch and i alone.
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

/// What is learned, and what measures it: the last tenth where that has a window and a byte after it, else all.
struct DividedText {
  std::string_view train, valid;
};
[[nodiscard]] DividedText divided(std::string_view text, std::int64_t context);

/// The prompt of the options, or the first word of the text; at least one byte.
[[nodiscard]] std::string prompt_of(const std::string& text, const TextOptions& options);

/// The end of a text as numbers, of at most `context`.
[[nodiscard]] std::vector<std::int64_t> last_bytes(std::string_view text, std::int64_t context);

/// Without control characters other than new lines and tabs, which could direct a terminal.
[[nodiscard]] std::string printable(std::string text);

/// A hash of the text and of the options that a run depends on.
[[nodiscard]] std::int64_t fingerprint(std::string_view text, const TextOptions& options);
/// throws locus::ArgumentError where the fingerprint of the checkpoint's run is not that of this one
void require_same_run(const TextOptions& options, std::int64_t saved, std::int64_t here);
