#pragma once
// Added tokens of a tokenizer: texts that are found as they stand, before words are divided.

#include <locus/core/std/span.hpp>
#include <locus/io/utf8.hpp>

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace locus { inline namespace LOCUS_ABI { namespace text {

/// A token beside the vocabulary, such as <|endoftext|>, with the fields of tokenizer.json.
struct AddedToken {
  std::string content;
  std::int64_t id = 0;
  bool special = true;       ///< decode may skip it
  bool single_word = false;  ///< not found within a word
  bool lstrip = false;       ///< takes the white space before it
  bool rstrip = false;       ///< takes the white space after it
  bool normalized = false;   ///< found in the normalized text
};

namespace detail {

/// The number of bytes of white space (Unicode's property) at the begin of a text of UTF-8.
[[nodiscard]] inline std::size_t leading_space(std::string_view text) {
  const auto is_space = [](std::uint32_t c) {
    return (c >= 0x09 && c <= 0x0D) || c == 0x20 || c == 0x85 || c == 0xA0 || c == 0x1680 ||
           (c >= 0x2000 && c <= 0x200A) || c == 0x2028 || c == 0x2029 || c == 0x202F || c == 0x205F || c == 0x3000;
  };
  std::size_t at = 0;
  while (at < text.size()) {
    const std::size_t length = io::utf8_length(text.substr(at));
    const auto byte = [&](std::size_t i) {
      return static_cast<std::uint32_t>(static_cast<unsigned char>(text[at + i]));
    };
    const std::uint32_t code = length == 1   ? byte(0)
                               : length == 2 ? (byte(0) & 0x1F) << 6 | (byte(1) & 0x3F)
                               : length == 3 ? (byte(0) & 0x0F) << 12 | (byte(1) & 0x3F) << 6 | (byte(2) & 0x3F)
                                             : 0;
    if (!is_space(code)) break;
    at += length;
  }
  return at;
}
/// The begin of the character that ends before byte `end`.
[[nodiscard]] inline std::size_t character_before(std::string_view text, std::size_t end) {
  do --end;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0u) == 0x80u);
  return end;
}

/// Finds added tokens: the leftmost, and of several there the longest.
class AddedTokenFinder {
 public:
  AddedTokenFinder() : first_(256) {}
  void add(const AddedToken& token) {
    if (token.content.empty()) return;
    auto& bucket = first_[static_cast<unsigned char>(token.content[0])];
    std::size_t at = 0;
    while (at < bucket.size() && bucket[at].content.size() >= token.content.size()) ++at;
    bucket.insert(bucket.begin() + static_cast<std::ptrdiff_t>(at), token);
    is_empty_ = false;
  }

  /// Calls part(text) for the text between tokens and found(token) for these, in their order. is_word(text): whether
  /// the text begins with a character of a word. Only tokens for which wanted(token) holds; where accepted(token) does
  /// not, the token's text is a part of the text, in which no other token is found.
  template <class IsWord, class Wanted, class Accepted, class Part, class Found>
  void split(std::string_view text, const IsWord& is_word, const Wanted& wanted, const Accepted& accepted,
             const Part& part, const Found& found) const {
    std::size_t done = 0;
    for (std::size_t at = 0; !is_empty_ && at < text.size();) {
      const AddedToken* const token = longest_at(text, at, wanted);
      if (!token) {
        ++at;
        continue;
      }
      std::size_t begin = at, end = at + token->content.size();
      if (!accepted(*token) || (token->single_word && is_within_word(text, begin, end, is_word))) {
        at = end;
        continue;
      }
      while (token->lstrip && begin > done) {
        const std::size_t before = character_before(text, begin);
        if (before < done || leading_space(text.substr(before, begin - before)) == 0) break;
        begin = before;
      }
      if (token->rstrip) end += leading_space(text.substr(end));
      if (begin > done) part(text.substr(done, begin - done));
      found(*token);
      at = done = end;
    }
    if (done < text.size()) part(text.substr(done));
  }

 private:
  template <class Wanted>
  [[nodiscard]] const AddedToken* longest_at(std::string_view text, std::size_t at, const Wanted& wanted) const {
    for (const AddedToken& token : first_[static_cast<unsigned char>(text[at])])
      if (text.substr(at).starts_with(token.content) && wanted(token)) return &token;
    return nullptr;
  }
  template <class IsWord>
  [[nodiscard]] static bool is_within_word(std::string_view text, std::size_t begin, std::size_t end,
                                           const IsWord& is_word) {
    return (begin > 0 && is_word(text.substr(character_before(text, begin)))) ||
           (end < text.size() && is_word(text.substr(end)));
  }

  std::vector<std::vector<AddedToken>> first_;  // by the first byte, the longest first
  bool is_empty_ = true;
};

}  // namespace detail

}}}  // namespace locus::LOCUS_ABI::text
