#pragma once
// Vocabularies of byte pair encoding, learned from texts.

#include <locus/text/tokenizer.hpp>

#include <set>

namespace locus { inline namespace LOCUS_ABI { namespace text {

/// Options of train_bpe.
struct BpeOptions {
  std::int64_t vocab_size = 30000;            ///< tokens in all, special ones and the 256 bytes included
  std::int64_t min_frequency = 2;             ///< pairs that occur less often stay apart
  std::vector<std::string> special_tokens{};  ///< the first ids, in this order
  std::string pattern{detail::gpt2_pattern};  ///< divides texts into words; no token crosses their borders
};

namespace detail {

/// Counts words, merges the most frequent pair, and counts the changed words anew. Pairs of equal counts are merged in
/// the order of their ids, as the Python package tokenizers does.
class BpeTrainer {
 public:
  explicit BpeTrainer(const BpeOptions& options) : options_(options) {
    const auto words = static_cast<std::int64_t>(options.special_tokens.size()) + 256;
    if (options.vocab_size < words)
      fail<ArgumentError>({"train_bpe: vocab_size = ", options.vocab_size, "; expected at least ", words,
                           ", of the special tokens and the 256 bytes"});
    parts_.steps.emplace_back().pattern.emplace(options.pattern, "train_bpe");
    std::int64_t id = 0;
    for (const std::string& special : options.special_tokens) {
      parts_.vocabulary.add(special, id, "train_bpe");
      parts_.vocabulary.add(AddedToken{.content = special, .id = id++}, "train_bpe");
    }
    // The bytes in the order of the characters that stand for them.
    for (const std::int16_t byte : byte_characters.to_byte)
      if (byte >= 0) parts_.vocabulary.add(std::string(1, static_cast<char>(byte)), id++, "train_bpe");
  }

  void count(std::string_view text) {
    std::string replaced;
    if (!io::is_utf8(text)) text = replaced = io::utf8_with_replacements(text);
    Pattern::Matcher(*parts_.steps[0].pattern).split(text, [&](std::string_view word) {
      const auto [place, is_new] = words_.try_emplace(std::string(word), counts_.size());
      if (is_new) counts_.push_back(0);
      ++counts_[place->second];
    });
  }

  [[nodiscard]] TokenizerParts trained() {
    divide_words();
    for (std::size_t word = 0; word < symbols_.size(); ++word)
      for (std::size_t i = 0; i + 1 < symbols_[word].size(); ++i) change(word, i, 1);
    for (const auto& [pair, state] : pairs_) queue_.push({state.count, pair});
    while (static_cast<std::int64_t>(parts_.vocabulary.size()) < options_.vocab_size && merge_most_frequent()) {}
    return std::move(parts_);
  }

 private:
  using Pair = std::pair<std::uint32_t, std::uint32_t>;
  struct PairHash {
    [[nodiscard]] std::size_t operator()(const Pair& pair) const {
      return (std::uint64_t{pair.first} << 32 | pair.second) * 0x9E3779B97F4A7C15u >> 7;
    }
  };
  struct PairState {
    std::int64_t count = 0;
    std::set<std::size_t> words;  ///< which had the pair when it was counted
  };
  struct Candidate {
    std::int64_t count;
    Pair pair;
    [[nodiscard]] bool operator<(const Candidate& other) const {
      return count != other.count ? count < other.count : pair > other.pair;
    }
  };

  void divide_words() {
    symbols_.resize(counts_.size());
    for (const auto& [word, index] : words_)
      for (const char byte : word) symbols_[index].push_back(parts_.vocabulary.of_byte(byte));
    words_.clear();
  }
  void change(std::size_t word, std::size_t at, std::int64_t sign) {
    change(word, {symbols_[word][at], symbols_[word][at + 1]}, sign);
  }
  void change(std::size_t word, const Pair& pair, std::int64_t sign) {
    PairState& state = pairs_[pair];
    state.count += sign * counts_[word];
    if (sign > 0) state.words.insert(word);
  }

  /// False if no pair is left that is frequent enough.
  bool merge_most_frequent() {
    for (;;) {
      if (queue_.empty()) return false;
      Candidate top = queue_.top();
      queue_.pop();
      if (const std::int64_t now = pairs_[top.pair].count; now != top.count) {
        top.count = now;
        if (now > 0) queue_.push(top);
        continue;
      }
      if (top.count < 1 || top.count < options_.min_frequency) return false;
      merge(top.pair);
      return true;
    }
  }
  void merge(const Pair& pair) {
    auto& vocabulary = parts_.vocabulary;
    const std::string left = vocabulary[pair.first].bytes, right = vocabulary[pair.second].bytes;
    std::uint32_t token = vocabulary.find(left + right);  // another pair may give the same bytes
    if (token == no_token) {
      token = static_cast<std::uint32_t>(vocabulary.size());
      vocabulary.add(left + right, token, "train_bpe");
    }
    vocabulary.add_merge(left, right, "train_bpe");
    grown_.clear();
    const auto words = std::move(pairs_[pair].words);
    pairs_[pair].words.clear();
    for (const std::size_t word : words) merge_in(word, pair, token);
    for (const Pair& each : grown_)
      if (const std::int64_t count = pairs_[each].count; count > 0) queue_.push({count, each});
  }
  void merge_in(std::size_t word, const Pair& pair, std::uint32_t token) {
    auto& symbols = symbols_[word];
    for (std::size_t i = 0; i + 1 < symbols.size(); ++i) {
      if (symbols[i] != pair.first || symbols[i + 1] != pair.second) continue;
      if (i > 0) {
        change(word, {symbols[i - 1], pair.first}, -1);
        grow(word, {symbols[i - 1], token});
      }
      symbols[i] = token;
      symbols.erase(symbols.begin() + static_cast<std::ptrdiff_t>(i) + 1);
      if (i + 1 < symbols.size()) {
        change(word, {pair.second, symbols[i + 1]}, -1);
        grow(word, {token, symbols[i + 1]});
      }
    }
  }
  void grow(std::size_t word, const Pair& pair) {
    change(word, pair, 1);
    grown_.insert(pair);
  }

  BpeOptions options_;
  TokenizerParts parts_;
  std::unordered_map<std::string, std::size_t> words_;
  std::vector<std::int64_t> counts_;  // of the words
  std::vector<std::vector<std::uint32_t>> symbols_;
  std::unordered_map<Pair, PairState, PairHash> pairs_;
  std::priority_queue<Candidate> queue_;
  std::set<Pair> grown_;
};

}  // namespace detail

/// A byte-level tokenizer whose tokens are learned from texts, such as lines or files. Each text is divided into words
/// by itself.
///
///     const auto tokenizer = text::train_bpe(lines, {.vocab_size = 8000, .special_tokens = {"<|endoftext|>"}});
///     tokenizer.save("tokenizer.json");
///
/// cost: the words are counted once; a merge visits the words that have its pair
/// throws ArgumentError for a vocab_size below the bytes and special tokens; DataError for a pattern that PCRE2 refuses
template <class Texts>
  requires requires(const Texts& texts) { std::string_view(*std::begin(texts)); }
[[nodiscard]] Tokenizer train_bpe(const Texts& texts, const BpeOptions& options = {}) {
  detail::BpeTrainer trainer(options);
  for (const auto& text : texts) trainer.count(text);
  return Tokenizer(trainer.trained());
}

}}}  // namespace locus::LOCUS_ABI::text
