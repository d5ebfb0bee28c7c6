#pragma once
// Files of tokens, written.

#include <locus/core/system/file.hpp>
#include <locus/data/files/token_file.hpp>

namespace locus { inline namespace LOCUS_ABI { namespace data {

/// Writes tokens as a file for TokenFile: numbers of 16 or 32 bits and nothing else, as nanoGPT's train.bin. A file of
/// this path is replaced when the new one is whole.
/// throws ArgumentError for a token that does not fit, other bits than 16 and 32, and no tokens; Error where the file
///        cannot be written
///
///     data::save_tokens("train.bin", tokenizer.encode(text));
inline void save_tokens(const std::string& path, Span<const std::int64_t> tokens,
                        const TokenFileOptions& options = {}) {
  if (options.bits != 16 && options.bits != 32)
    fail<ArgumentError>({"save_tokens: .bits = ", options.bits, "; expected 16 or 32"});
  if (tokens.empty()) fail<ArgumentError>({"save_tokens: no tokens for '", path, "'; expected at least one"});
  const auto bytes = static_cast<std::size_t>(options.bits / 8);
  std::string content(tokens.size() * bytes, '\0');
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    if (tokens[i] < 0 || tokens[i] >> options.bits != 0)
      fail<ArgumentError>({"save_tokens: token ", tokens[i], " at position ", i, "; expected 0 to ",
                           (std::int64_t{1} << options.bits) - 1, options.bits == 16 ? ", or .bits = 32" : ""});
    const auto number = static_cast<std::uint32_t>(tokens[i]);
    std::memcpy(content.data() + i * bytes, &number, bytes);  // little-endian, as this machine
  }
  io::write_file_atomically(path, content);
}

}}}  // namespace locus::LOCUS_ABI::data
