#pragma once
// Byte pair encoding (Sennrich et al., 2016): words of bytes become tokens by merges in the order of their ranks.

#include <locus/core/check.hpp>
#include <locus/core/printable.hpp>
#include <locus/core/std/span.hpp>

#include <cstdint>
#include <queue>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

namespace locus { inline namespace LOCUS_ABI { namespace text::detail {

/// The merge of a pair of tokens.
struct Merge {
  std::uint32_t rank;  ///< the lowest is done first
  std::uint32_t token;
};

/// The merges by their pairs: a table of open addresses, at most half full.
class MergeTable {
 public:
  explicit MergeTable(std::size_t merges = 0) {
    while (slots_.size() < 2 * merges + 2) slots_.resize(slots_.empty() ? 16 : 2 * slots_.size());
  }
  /// A later merge of the same pair replaces the earlier one.
  void insert(std::uint32_t left, std::uint32_t right, Merge merge) {
    Slot& slot = slots_[place(key(left, right))];
    slot = {key(left, right), merge, true};
  }
  /// Null for a pair that stays apart.
  [[nodiscard]] const Merge* find(std::uint32_t left, std::uint32_t right) const {
    const Slot& slot = slots_[place(key(left, right))];
    return slot.is_used ? &slot.merge : nullptr;
  }

 private:
  struct Slot {
    std::uint64_t key = 0;
    Merge merge{};
    bool is_used = false;
  };
  [[nodiscard]] static std::uint64_t key(std::uint32_t left, std::uint32_t right) {
    return std::uint64_t{left} << 32 | right;
  }
  [[nodiscard]] std::size_t place(std::uint64_t key) const {
    std::uint64_t hash = key * 0x9E3779B97F4A7C15u;
    hash ^= hash >> 32;
    std::size_t at = hash & (slots_.size() - 1);
    while (slots_[at].is_used && slots_[at].key != key) at = (at + 1) & (slots_.size() - 1);
    return at;
  }
  std::vector<Slot> slots_;
};

/// Tokens of one word while it is merged. Its memory is used again for the next word.
class WordMerger {
 public:
  /// Merges the tokens of a word: pairs of lowest rank first, and of equal pairs the first.
  void merge(const MergeTable& merges, std::vector<std::uint32_t>& word) {
    if (word.size() > 64) return merge_long(merges, word);
    ranks_.resize(word.size());
    for (std::size_t i = 0; i + 1 < word.size(); ++i) ranks_[i] = merges.find(word[i], word[i + 1]);
    for (;;) {
      std::size_t best = word.size();
      for (std::size_t i = 0; i + 1 < word.size(); ++i)
        if (ranks_[i] && (best == word.size() || ranks_[i]->rank < ranks_[best]->rank)) best = i;
      if (best == word.size()) return;
      word[best] = ranks_[best]->token;
      word.erase(word.begin() + static_cast<std::ptrdiff_t>(best) + 1);
      ranks_.erase(ranks_.begin() + static_cast<std::ptrdiff_t>(best) + 1);
      if (best > 0) ranks_[best - 1] = merges.find(word[best - 1], word[best]);
      if (best + 1 < word.size()) ranks_[best] = merges.find(word[best], word[best + 1]);
    }
  }

 private:
  struct Candidate {
    std::uint32_t rank, at, left, right;
    [[nodiscard]] bool operator<(const Candidate& other) const {  // the queue's top is the largest
      return rank != other.rank ? rank > other.rank : at > other.at;
    }
  };
  /// The same for a word of n tokens in n log n steps.
  void merge_long(const MergeTable& merges, std::vector<std::uint32_t>& word) {
    constexpr std::uint32_t none = 0xFFFFFFFF;
    const auto n = static_cast<std::uint32_t>(word.size());
    std::vector<std::uint32_t> before(n), after(n);
    for (std::uint32_t i = 0; i < n; ++i) before[i] = i == 0 ? none : i - 1, after[i] = i + 1 == n ? none : i + 1;
    std::priority_queue<Candidate> queue;
    const auto consider = [&](std::uint32_t at) {
      if (at == none || after[at] == none) return;
      if (const Merge* const merge = merges.find(word[at], word[after[at]]))
        queue.push({merge->rank, at, word[at], word[after[at]]});
    };
    std::vector<bool> is_gone(n);
    for (std::uint32_t i = 0; i < n; ++i) consider(i);
    while (!queue.empty()) {
      const Candidate best = queue.top();
      queue.pop();
      const std::uint32_t next = is_gone[best.at] ? none : after[best.at];
      if (next == none || word[best.at] != best.left || word[next] != best.right) continue;  // of an earlier state
      word[best.at] = merges.find(best.left, best.right)->token;
      is_gone[next] = true;
      after[best.at] = after[next];
      if (after[next] != none) before[after[next]] = best.at;
      consider(before[best.at]);
      consider(best.at);
    }
    std::size_t kept = 0;
    for (std::uint32_t i = 0; i != none; i = after[i]) word[kept++] = word[i];
    word.resize(kept);
  }

  std::vector<const Merge*> ranks_;
};

/// The bytes as characters in which byte-level vocabularies are written: printable ones stand for themselves, the
/// others for the characters from U+0100 on.
struct ByteCharacters {
  std::uint16_t of_byte[256];
  std::int16_t to_byte[0x144];  ///< -1: no byte

  constexpr ByteCharacters() : of_byte(), to_byte() {
    for (std::int16_t& byte : to_byte) byte = -1;
    std::uint16_t next = 0x100;
    for (int byte = 0; byte < 256; ++byte) {
      const bool is_itself = (byte >= '!' && byte <= '~') || (byte >= 0xA1 && byte <= 0xAC) || byte >= 0xAE;
      of_byte[byte] = is_itself ? static_cast<std::uint16_t>(byte) : next++;
      to_byte[of_byte[byte]] = static_cast<std::int16_t>(byte);
    }
  }
};
inline constexpr ByteCharacters byte_characters{};

/// A token's text in a vocabulary, of its bytes.
[[nodiscard]] inline std::string written(std::string_view bytes) {
  std::string result;
  for (const char c : bytes) {
    const unsigned code = byte_characters.of_byte[static_cast<unsigned char>(c)];
    if (code < 0x80) result += static_cast<char>(code);
    else (result += static_cast<char>(0xC0 | code >> 6)) += static_cast<char>(0x80 | (code & 0x3F));
  }
  return result;
}
/// The bytes of a token as a vocabulary writes it; false if it holds other characters.
[[nodiscard]] inline bool read_written(std::string_view text, std::string& bytes) {
  bytes.clear();
  for (std::size_t i = 0; i < text.size(); ++i) {
    unsigned code = static_cast<unsigned char>(text[i]);
    if (code >= 0x80) {
      if (code < 0xC2 || code > 0xC5 || i + 1 == text.size()) return false;
      code = (code & 0x1F) << 6 | (static_cast<unsigned char>(text[++i]) & 0x3F);
    }
    if (code >= 0x144 || byte_characters.to_byte[code] < 0) return false;
    bytes += static_cast<char>(byte_characters.to_byte[code]);
  }
  return true;
}

}}}  // namespace locus::LOCUS_ABI::text::detail
