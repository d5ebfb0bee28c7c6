#pragma once
// Generation of text: a prompt as text, and the continuation as it comes. Programs link with the libraries of
// text/tokenizer.hpp.

#include <locus/models/generate.hpp>
#include <locus/text/tokenizer.hpp>

namespace locus { inline namespace LOCUS_ABI { namespace models {

/// A continuation without the prompt.
struct GeneratedText {
  std::string text;                  ///< without the text or token that stopped it
  std::vector<std::int64_t> tokens;  ///< of the text, and of the text that stopped it
  Ended ended = Ended::most_tokens;
  std::optional<std::int64_t> stop_token = {};  ///< as in Generated
};

/// Divides text that comes in parts before the stop text that is complete first. Text that may be the beginning of one
/// is held back.
///
///     models::StopTexts stops({"\n\n"});
///     stops.push("one\n");      // "one"
///     stops.push("two\n\n3");   // "\ntwo"; stops.found()
class StopTexts {
 public:
  explicit StopTexts(std::vector<std::string> stops) : stops_(std::move(stops)) {}

  /// The text that goes before every stop text, as far as that is certain.
  [[nodiscard]] std::string push(std::string_view part) {
    if (found_) return {};
    held_ += part;
    std::size_t certain = 0, behind = std::string::npos;
    for (const std::string& stop : stops_) {
      const std::size_t at = held_.find(stop), end = at + stop.size();
      if (at == std::string::npos || end > behind || (end == behind && at > certain)) continue;
      found_ = true, certain = at, behind = end;
    }
    if (!found_) certain = held_.size() - beginning();
    std::string text = held_.substr(0, certain);
    held_.erase(0, certain);
    return text;
  }
  [[nodiscard]] bool found() const { return found_; }
  /// The text that was held back, where no more follows.
  [[nodiscard]] std::string finish() { return found_ ? std::string() : std::exchange(held_, {}); }

 private:
  /// The length of the longest end of the text with which a stop text begins.
  [[nodiscard]] std::size_t beginning() const {
    std::size_t longest = 0;
    for (const std::string& stop : stops_)
      for (std::size_t n = stop.size() - 1; n > longest; --n)
        if (n <= held_.size() &&
            std::string_view(stop).substr(0, n) == std::string_view(held_).substr(held_.size() - n))
          longest = n;
    return longest;
  }

  std::vector<std::string> stops_;
  std::string held_;
  bool found_ = false;
};

namespace detail {
struct IgnoreText {
  void operator()(std::string_view) const {}
};
/// The text of a call, passed on in parts.
template <class F>
class TextParts {
 public:
  TextParts(const text::Tokenizer& tokenizer, std::vector<std::string> stops, F& on_text)
      : tokenizer_(tokenizer),
        stream_(tokenizer, {.skip_special_tokens = true}),
        stops_(std::move(stops)),
        on_text_(on_text) {}

  /// False where the text ends. A token of the model that the tokenizer lacks has no text.
  [[nodiscard]] bool push(std::int64_t token) {
    if (token < tokenizer_.vocab_size()) pass_on(stops_.push(stream_.push(token)));
    return goes_on_ && !stops_.found();
  }
  [[nodiscard]] GeneratedText finish(Generated generated) {
    pass_on(stops_.push(stream_.finish()));
    pass_on(stops_.finish());
    return {std::move(text_), std::move(generated.tokens), stops_.found() ? Ended::stop_text : generated.ended,
            generated.stop_token};
  }

 private:
  void pass_on(const std::string& part) {
    if (part.empty() || !goes_on_) return;
    text_ += part;
    if constexpr (std::is_void_v<decltype(on_text_(std::string_view(part)))>) on_text_(std::string_view(part));
    else goes_on_ = static_cast<bool>(on_text_(std::string_view(part)));
  }

  const text::Tokenizer& tokenizer_;
  text::TokenStream stream_;
  StopTexts stops_;
  F& on_text_;
  std::string text_;
  bool goes_on_ = true;
};

/// run(options, on_token) generates tokens.
template <class F, class Run>
[[nodiscard]] GeneratedText text_of(const text::Tokenizer& tokenizer, GenerateOptions options, F& on_text,
                                    const Run& run) {
  (void)checked(options);
  TextParts<F> parts(tokenizer, std::exchange(options.stop_texts, {}), on_text);
  return parts.finish(run(options, [&](std::int64_t token) { return parts.push(token); }));
}
}  // namespace detail

/// Continues a text. Each part is passed to on_text as soon as it is certain: whole characters of UTF-8, without
/// special tokens, and without any part of a text of `stop_texts`. Where on_text returns false, the text ends.
/// throws as generate()
///
///     const auto [text, tokens, ended, stop_token] = models::generate_text(
///         model, tokenizer, "Once upon a time", {.temperature = 0.8, .top_p = 0.95, .stop_texts = {"\n\n"}},
///         [](std::string_view part) { std::cout << part << std::flush; });
template <Decoder M, class F = detail::IgnoreText>
GeneratedText generate_text(const M& model, const text::Tokenizer& tokenizer, std::string_view prompt,
                            const GenerateOptions& options = {}, F on_text = {}) {
  return detail::text_of(tokenizer, options, on_text, [&](const GenerateOptions& all, const auto& on_token) {
    return generate(model, tokenizer.encode(prompt), all, on_token);
  });
}
/// Continues a text behind the tokens of a cache of one sequence. The prompt is tokens: what a text begins with, as a
/// template of chats, is the caller's.
template <Decoder M, class F = detail::IgnoreText>
GeneratedText generate_text(const M& model, const text::Tokenizer& tokenizer,
                            const nn::KeyValueCache<value_of<M>, device_of<M>>& cache,
                            const std::vector<std::int64_t>& prompt, const GenerateOptions& options = {},
                            F on_text = {}) {
  return detail::text_of(tokenizer, options, on_text, [&](const GenerateOptions& all, const auto& on_token) {
    return generate(model, cache, prompt, all, on_token);
  });
}

}}}  // namespace locus::LOCUS_ABI::models
