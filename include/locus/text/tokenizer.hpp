#pragma once
// Tokenizers: text to tokens and back, by byte-level byte pair encoding as of GPT-2, Llama 3 and Qwen. Needs no
// tensors; programs link with -lpcre2-8, and with -lutf8proc for tokenizers that normalize.

#include <locus/text/normalize.hpp>
#include <locus/text/vocabulary.hpp>

#include <cstring>

namespace locus { inline namespace LOCUS_ABI { namespace text {

/// Options of Tokenizer::encode.
struct EncodeOptions {
  bool add_special_tokens = true;     ///< those that the file puts around each text, such as <|begin_of_text|>
  bool split_special_tokens = false;  ///< the names of special tokens are ordinary text, as in texts of users
};
/// Options of Tokenizer::decode.
struct DecodeOptions {
  bool skip_special_tokens = false;
};

namespace detail {

/// The tokens of one text, while they are found.
class Encoder {
 public:
  /// bytes: length of the text, by which the memory of known words is chosen
  Encoder(const TokenizerParts& parts, std::vector<std::int64_t>& tokens, std::size_t bytes)
      : parts_(parts), tokens_(tokens) {
    while (cache_bits_ < 14 && std::size_t{16} << cache_bits_ < bytes) ++cache_bits_;
    known_.resize(std::size_t{1} << cache_bits_);
    for (const Step& step : parts.steps)
      matchers_.push_back(step.pattern ? std::optional<Pattern::Matcher>(std::in_place, *step.pattern) : std::nullopt);
  }

  /// Divides a text by the steps from `step` on into words.
  void divide(std::string_view text, std::size_t step) {
    if (step == parts_.steps.size()) return word(text);
    const Step& here = parts_.steps[step];
    std::string with_space;
    if (here.prefix_space && !text.starts_with(' ')) text = with_space.append(" ").append(text);
    if (const auto& matcher = matchers_[step])
      matcher->split(text, [&](std::string_view piece) { divide(piece, step + 1); });
    else divide(text, step + 1);
  }

 private:
  /// The tokens of an earlier word, as a part of the result.
  struct Known {
    std::uint64_t hash = 0;
    std::size_t begin = 0, count = 0;
  };

  void word(std::string_view bytes) {
    const std::uint64_t hash = hash_of(bytes);
    Known& known = known_[hash >> (64 - cache_bits_)];
    if (known.hash == hash && says(known, bytes)) {
      for (std::size_t i = 0; i < known.count; ++i) tokens_.push_back(tokens_[known.begin + i]);
      return;
    }
    known = {hash, tokens_.size(), 0};
    encode(bytes);
    known.count = tokens_.size() - known.begin;
  }
  void encode(std::string_view bytes) {
    const Vocabulary& vocabulary = parts_.vocabulary;
    if (parts_.ignores_merges)
      if (const std::uint32_t whole = vocabulary.find(bytes); whole != no_token) return tokens_.push_back(whole);
    symbols_.clear();
    bool was_unknown = false;
    for (const char byte : bytes) {
      const bool is_unknown = vocabulary.of_byte(byte) == no_token;
      if (!(is_unknown && was_unknown && parts_.fuses_unknown)) symbols_.push_back(of_byte(byte));
      was_unknown = is_unknown;
    }
    merger_.merge(vocabulary.table(), symbols_);
    tokens_.insert(tokens_.end(), symbols_.begin(), symbols_.end());
  }
  [[nodiscard]] std::uint32_t of_byte(char byte) const {
    const std::uint32_t token = parts_.vocabulary.of_byte(byte);
    if (token != no_token) return token;
    if (parts_.unknown == no_token)
      fail<DataError>({"Tokenizer: the vocabulary has no token of the byte ", static_cast<unsigned char>(byte),
                       ", nor one of unknown texts; expected a token of each byte that occurs"});
    return parts_.unknown;
  }
  /// Whether the tokens of an earlier word have these bytes.
  [[nodiscard]] bool says(const Known& known, std::string_view bytes) const {
    for (std::size_t i = 0; i < known.count; ++i) {
      const std::string& token = parts_.vocabulary[static_cast<std::size_t>(tokens_[known.begin + i])].bytes;
      if (!bytes.starts_with(token)) return false;
      bytes.remove_prefix(token.size());
    }
    return bytes.empty();
  }
  [[nodiscard]] static std::uint64_t hash_of(std::string_view bytes) {
    constexpr std::uint64_t factor = 0x9E3779B97F4A7C15u;
    std::uint64_t hash = bytes.size() * factor;
    while (!bytes.empty()) {
      std::uint64_t part = 0;
      const std::size_t count = bytes.size() < 8 ? bytes.size() : 8;
      std::memcpy(&part, bytes.data(), count);
      hash = (hash ^ part) * factor;
      hash ^= hash >> 29;
      bytes.remove_prefix(count);
    }
    return hash * factor;
  }

  const TokenizerParts& parts_;
  std::vector<std::int64_t>& tokens_;
  std::vector<std::optional<Pattern::Matcher>> matchers_;  // of the steps
  int cache_bits_ = 6;
  std::vector<Known> known_;
  std::vector<std::uint32_t> symbols_;
  WordMerger merger_;
};

}  // namespace detail

/// Text to tokens and back. Threads may share one.
///
///     const auto tokenizer = text::Tokenizer::from_file("Llama-3.2-1B/tokenizer.json");
///     const auto tokens = tokenizer.encode("Hello");                   // <|begin_of_text|> and Hello
///     std::cout << tokenizer.decode(tokens, {.skip_special_tokens = true});
class Tokenizer {
 public:
  /// Of a file tokenizer.json, or of a folder with it, or with vocab.json and merges.txt as GPT-2 was published.
  /// throws DataError for a file that is missing, damaged or asks for something that is not there, naming it;
  ///        ArgumentError if it normalizes in a program without utf8proc
  [[nodiscard]] static Tokenizer from_file(const std::string& path);
  /// Of the text of a file tokenizer.json.
  [[nodiscard]] static Tokenizer from_json(std::string_view json, std::string_view name = "tokenizer.json");
  /// Of the two files of GPT-2. Special tokens that the vocabulary lacks get the next ids.
  [[nodiscard]] static Tokenizer from_files(const std::string& vocabulary, const std::string& merges,
                                            Span<const std::string_view> special_tokens);
  explicit Tokenizer(detail::TokenizerParts parts) : parts_(std::move(parts)) { parts_.vocabulary.finish(); }

  /// The tokens of a text. Bytes that are not UTF-8 count as U+FFFD, as Python reads them.
  /// cost: some 20 ns for each byte, by one thread
  /// throws DataError for a byte without a token
  [[nodiscard]] std::vector<std::int64_t> encode(std::string_view text, const EncodeOptions& options = {}) const {
    std::vector<std::int64_t> tokens;
    tokens.reserve(text.size() / 3 + parts_.before.size() + parts_.after.size());
    if (options.add_special_tokens) tokens = parts_.before;
    std::string replaced;
    if (!io::is_utf8(text)) text = replaced = io::utf8_with_replacements(text);
    detail::Encoder encoder(parts_, tokens, text.size());
    const auto take = [&](const AddedToken& token) { tokens.push_back(token.id); };
    split(text, false, options, take, [&](std::string_view part) {
      std::string composed;
      if (parts_.composes && !detail::is_surely_composed(part)) {
        detail::append_composed(composed, part);
        part = composed;
      }
      split(part, true, options, take, [&](std::string_view ordinary) { encoder.divide(ordinary, 0); });
    });
    if (options.add_special_tokens) tokens.insert(tokens.end(), parts_.after.begin(), parts_.after.end());
    return tokens;
  }

  /// The bytes of tokens, which need not be UTF-8 where they begin or end within a character.
  /// throws IndexError for an id without a token
  [[nodiscard]] std::string decode(Span<const std::int64_t> tokens, const DecodeOptions& options = {}) const {
    std::string text;
    for (const std::int64_t id : tokens) {
      const detail::Token& token = token_of(id);
      if (token.kind != detail::Token::Kind::special || !options.skip_special_tokens) text += token.bytes;
    }
    return text;
  }
  /// The bytes of one token.
  [[nodiscard]] const std::string& bytes_of(std::int64_t id) const { return token_of(id).bytes; }
  [[nodiscard]] bool is_special(std::int64_t id) const { return token_of(id).kind == detail::Token::Kind::special; }
  /// The id of a token of these bytes; empty if there is none.
  [[nodiscard]] std::optional<std::int64_t> token_to_id(std::string_view bytes) const {
    for (const AddedToken& token : parts_.vocabulary.added())
      if (token.content == bytes) return token.id;
    const std::uint32_t id = parts_.vocabulary.find(bytes);
    return id == detail::no_token ? std::nullopt : std::optional<std::int64_t>(id);
  }
  /// One more than the largest id: the rows that a model's embedding needs.
  [[nodiscard]] std::int64_t vocab_size() const { return static_cast<std::int64_t>(parts_.vocabulary.size()); }
  /// Tokens beside the vocabulary, and special ones, in the order of their ids.
  [[nodiscard]] const std::vector<AddedToken>& added_tokens() const { return parts_.vocabulary.added(); }

  /// Writes a file tokenizer.json, which the Python package tokenizers reads, too. throws Error where it cannot be
  /// written
  void save(const std::string& path) const;

 private:
  [[nodiscard]] const detail::Token& token_of(std::int64_t id) const {
    const auto& vocabulary = parts_.vocabulary;
    if (id < 0 || id >= vocab_size() || vocabulary[static_cast<std::size_t>(id)].kind == detail::Token::Kind::none)
      fail<IndexError>({"Tokenizer: no token has the id ", id, "; expected 0 to ", vocab_size() - 1});
    return vocabulary[static_cast<std::size_t>(id)];
  }
  template <class Found, class Part>
  void split(std::string_view text, bool normalized, const EncodeOptions& options, const Found& found,
             const Part& part) const {
    static const detail::Pattern word(R"(\w)", "Tokenizer");
    parts_.vocabulary.finder().split(
        text, [](std::string_view from) { return detail::Pattern::Matcher(word).begins(from); },
        [&](const AddedToken& token) { return token.normalized == normalized; },
        [&](const AddedToken& token) { return !(token.special && options.split_special_tokens); }, part, found);
  }

  detail::TokenizerParts parts_;
};

/// Tokens as they come, to text in whole characters of UTF-8.
///
///     text::TokenStream stream(tokenizer);
///     for (const auto token : tokens) std::cout << stream.push(token) << std::flush;
///     std::cout << stream.finish();
class TokenStream {
 public:
  /// The tokenizer must outlive the stream.
  explicit TokenStream(const Tokenizer& tokenizer, const DecodeOptions& options = {})
      : tokenizer_(&tokenizer), options_(options) {}

  /// The characters that the token completes. Bytes that no later token can complete become U+FFFD.
  [[nodiscard]] std::string push(std::int64_t token) {
    pending_ += tokenizer_->decode(Span<const std::int64_t>(&token, 1), options_);
    std::size_t whole = pending_.size();
    for (std::size_t back = 1; back <= 3 && back <= pending_.size(); ++back)
      if (const auto tail = std::string_view(pending_).substr(pending_.size() - back); may_go_on(tail)) {
        whole = pending_.size() - back;
        break;
      }
    std::string text = io::utf8_with_replacements(std::string_view(pending_).substr(0, whole));
    pending_.erase(0, whole);
    return text;
  }
  /// The bytes that wait, as U+FFFD.
  [[nodiscard]] std::string finish() { return io::utf8_with_replacements(std::exchange(pending_, {})); }

 private:
  /// Whether bytes are the begin of one character that is not complete.
  [[nodiscard]] static bool may_go_on(std::string_view tail) {
    const unsigned lead = static_cast<unsigned char>(tail[0]);
    if (lead < 0xC2 || lead > 0xF4 || io::utf8_length(tail) > 0) return false;
    const std::size_t needed = lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : 4;
    return tail.size() < needed && (tail.size() == 1 || io::utf8_replaced(tail) == tail.size());
  }

  const Tokenizer* tokenizer_;
  DecodeOptions options_;
  std::string pending_;
};

}}}  // namespace locus::LOCUS_ABI::text

#include <locus/text/tokenizer_file.hpp>
