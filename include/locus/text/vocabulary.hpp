#pragma once
// The parts of a byte-level tokenizer: tokens, merges, the steps that divide a text into words.

#include <locus/core/std/bounds.hpp>
#include <locus/text/added_tokens.hpp>
#include <locus/text/byte_pairs.hpp>
#include <locus/text/pattern.hpp>

#include <functional>
#include <optional>

namespace locus { inline namespace LOCUS_ABI { namespace text::detail {

inline constexpr std::uint32_t no_token = 0xFFFFFFFF;

/// A token by its id.
struct Token {
  enum class Kind : std::uint8_t { none, word, added, special };
  std::string bytes;
  Kind kind = Kind::none;
};

/// Tokens by their ids and by their bytes, and the merges.
class Vocabulary {
 public:
  Vocabulary() {
    for (std::uint32_t& token : of_byte_) token = no_token;
  }
  /// Ids beyond 2^18 and beyond the size of their file in bytes are refused: ids are indices of an array, which a small
  /// file could make huge.
  void limit_ids(std::size_t bytes) {
    most_ids_ = locus::detail::within(static_cast<std::int64_t>(bytes), std::int64_t{1} << 18, most_ids_);
  }
  /// throws DataError for a second token of this id, or of these bytes, naming `what`
  void add(std::string bytes, std::int64_t id, std::string_view what) {
    Token& token = at_id(id, what);
    if (token.kind != Token::Kind::none)
      fail<DataError>({what, ": id ", id, " belongs to '", locus::detail::printable(token.bytes, 40), "' and to '",
                       locus::detail::printable(bytes, 40), "'; expected an id of its own for each"});
    if (const auto [known, is_new] = ids_.try_emplace(bytes, static_cast<std::uint32_t>(id)); !is_new)
      fail<DataError>({what, ": '", locus::detail::printable(bytes, 40), "' has the ids ", known->second, " and ", id,
                       "; expected one"});
    if (bytes.size() == 1) of_byte_[static_cast<unsigned char>(bytes[0])] = static_cast<std::uint32_t>(id);
    token = {std::move(bytes), Token::Kind::word};
  }
  /// A token beside the vocabulary, or one of it that is found as it stands.
  void add(const AddedToken& added, std::string_view what) {
    Token& token = at_id(added.id, what);
    if (token.kind != Token::Kind::none && token.bytes != added.content)
      fail<DataError>({what, ": the added token '", locus::detail::printable(added.content, 40), "' has the id ",
                       added.id, " of '", locus::detail::printable(token.bytes, 40), "'; expected one of its own"});
    token = {added.content, added.special ? Token::Kind::special : Token::Kind::added};
    finder_.add(added);
    added_.push_back(added);
  }
  /// The next merge of two tokens of the vocabulary. throws DataError where they, or both together, are none
  void add_merge(std::string_view left, std::string_view right, std::string_view what) {
    const auto id = [&](std::string_view bytes) {
      const auto found = find(bytes);
      if (found == no_token || bytes.empty())
        fail<DataError>({what, ": merge ", merges_.size(), " is of '", locus::detail::printable(left, 40), "' and '",
                         locus::detail::printable(right, 40), "'; expected '", locus::detail::printable(bytes, 80),
                         "' in the vocabulary"});
      return found;
    };
    const std::uint32_t first = id(left), second = id(right);
    (void)id(std::string(left) + std::string(right));
    merges_.push_back({first, second});
  }
  /// Makes the table of merges, after the last of them.
  void finish() {
    table_ = MergeTable(merges_.size());
    for (std::size_t i = 0; i < merges_.size(); ++i) {
      const auto [left, right] = merges_[i];
      table_.insert(left, right, {static_cast<std::uint32_t>(i), find(tokens_[left].bytes + tokens_[right].bytes)});
    }
  }

  [[nodiscard]] std::uint32_t find(std::string_view bytes) const {
    const auto found = ids_.find(bytes);
    return found == ids_.end() ? no_token : found->second;
  }
  [[nodiscard]] std::uint32_t of_byte(char byte) const { return of_byte_[static_cast<unsigned char>(byte)]; }
  /// Largest id, and one.
  [[nodiscard]] std::size_t size() const { return tokens_.size(); }
  [[nodiscard]] const Token& operator[](std::size_t id) const { return tokens_[id]; }
  [[nodiscard]] const std::vector<std::pair<std::uint32_t, std::uint32_t>>& merges() const { return merges_; }
  [[nodiscard]] const MergeTable& table() const { return table_; }
  [[nodiscard]] const std::vector<AddedToken>& added() const { return added_; }
  [[nodiscard]] const AddedTokenFinder& finder() const { return finder_; }
  /// Tokens of the vocabulary by their bytes.
  [[nodiscard]] const auto& ids() const { return ids_; }

 private:
  struct Hash {
    using is_transparent = void;
    [[nodiscard]] std::size_t operator()(std::string_view text) const { return std::hash<std::string_view>()(text); }
  };

  [[nodiscard]] Token& at_id(std::int64_t id, std::string_view what) {
    if (id < 0 || id >= most_ids_) fail<DataError>({what, ": the id ", id, "; expected 0 to ", most_ids_ - 1});
    if (const auto needed = static_cast<std::size_t>(id) + 1; tokens_.size() < needed) tokens_.resize(needed);
    return tokens_[static_cast<std::size_t>(id)];
  }

  std::int64_t most_ids_ = std::int64_t{1} << 24;
  std::vector<Token> tokens_;
  std::unordered_map<std::string, std::uint32_t, Hash, std::equal_to<>> ids_;
  std::uint32_t of_byte_[256];
  std::vector<std::pair<std::uint32_t, std::uint32_t>> merges_;
  MergeTable table_;
  std::vector<AddedToken> added_;
  AddedTokenFinder finder_;
};

/// A step that divides a text into words.
struct Step {
  std::optional<Pattern> pattern;  ///< its matches, and the parts between them; empty: one word
  bool prefix_space = false;       ///< a space in front of texts that have none there
};

/// All that a tokenizer does to a text.
struct TokenizerParts {
  Vocabulary vocabulary;
  std::vector<Step> steps;
  bool composes = false;        ///< normalization form C
  bool ignores_merges = false;  ///< a word that is a token is not merged
  std::uint32_t unknown = no_token;
  bool fuses_unknown = false;               ///< neighbouring bytes without a token are one unknown token
  std::vector<std::int64_t> before, after;  ///< special tokens around each text
};

/// GPT-2's division into words.
inline constexpr std::string_view gpt2_pattern =
    R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)";

}}}  // namespace locus::LOCUS_ABI::text::detail
