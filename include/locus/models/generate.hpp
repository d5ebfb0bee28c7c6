#pragma once
// Generation of tokens by a model with a cache.

#include <locus/models/token_sampler.hpp>
#include <locus/nn/key_value_cache.hpp>

#include <concepts>
#include <optional>

namespace locus { inline namespace LOCUS_ABI { namespace models {

/// A model that predicts the next token, with a cache of what it has seen, as models::GPT2:
///
///     model.cache({.batch = 2, .capacity = 256})     an nn::KeyValueCache
///     model.next_logits(tokens, cache, counts)       (batch, count) of int64 -> (batch, vocab_size); see GPT2
///     model.vocab_size()                             logits of a position
///     model.max_length()                             most tokens of a sequence
template <class M>
concept Decoder =
    locus::detail::HasPlace<M> &&
    requires(const M& model, const Tensor<std::int64_t, device_of<M>>& tokens,
             const nn::KeyValueCache<value_of<M>, device_of<M>>& cache, const std::vector<std::int64_t>& counts) {
      { model.cache(nn::CacheSize{}) } -> std::same_as<nn::KeyValueCache<value_of<M>, device_of<M>>>;
      model.next_logits(tokens, cache, counts);
      { model.vocab_size() } -> std::convertible_to<std::int64_t>;
      { model.max_length() } -> std::convertible_to<std::int64_t>;
    };

/// Why a sequence ended.
enum class Ended {
  most_tokens,  ///< it has max_new_tokens
  stop_token,   ///< a token of `stop` followed
  stop_text,    ///< a text of `stop_texts` followed
  full,         ///< the model, or the cache, takes no more tokens
  callback      ///< on_token returned false
};
/// The name, such as "stop_token".
[[nodiscard]] LOCUS_COLD inline std::string to_string(Ended ended) {
  constexpr const char* names[] = {"most_tokens", "stop_token", "stop_text", "full", "callback"};
  return names[static_cast<std::size_t>(ended)];
}
template <class Stream>
Stream& operator<<(Stream& out, Ended ended) {
  out << to_string(ended);
  return out;
}

/// A sequence that was generated, without its prompt.
struct Generated {
  std::vector<std::int64_t> tokens;
  Ended ended = Ended::most_tokens;
  std::optional<std::int64_t> stop_token = {};  ///< the token of `stop` that followed, if one ended the sequence
};

namespace detail {
struct IgnoreToken {
  void operator()(std::int64_t) const {}
};
/// Calls on_token(sequence, token) or on_token(token); false if it returns false.
template <class F>
[[nodiscard]] bool goes_on(F& on_token, std::int64_t sequence, std::int64_t token) {
  const auto call = [&] {
    if constexpr (requires { on_token(sequence, token); }) return on_token(sequence, token);
    else return on_token(token);
  };
  if constexpr (std::is_void_v<decltype(call())>) return call(), true;
  else return static_cast<bool>(call());
}

/// The sequences of a call.
class Sequences {
 public:
  /// throws ArgumentError for no prompts, and for an empty one; IndexError for a token out of the vocabulary
  LOCUS_OUT_OF_LINE Sequences(const std::vector<std::vector<std::int64_t>>& prompts, std::int64_t vocab_size)
      : prompts_(prompts), results_(prompts.size()), goes_on_(prompts.size(), true) {
    if (prompts.empty()) fail<ArgumentError>({"generate: no prompt; expected at least one"});
    for (std::size_t b = 0; b < prompts.size(); ++b) {
      if (prompts[b].empty())
        fail<ArgumentError>(
            {"generate: prompt ", b, " is empty; expected at least one token, as of the beginning of text"});
      for (const std::int64_t token : prompts[b])
        if (token < 0 || token >= vocab_size)
          fail<IndexError>({"generate: prompt ", b, " has the token ", token, "; expected 0 to ", vocab_size - 1,
                            ", tokens of the model's vocabulary"});
    }
  }

  [[nodiscard]] std::int64_t size() const { return std::ssize(prompts_); }
  [[nodiscard]] std::int64_t longest() const {
    std::int64_t most = 0;
    for (const auto& prompt : prompts_) most = locus::detail::larger(most, std::ssize(prompt));
    return most;
  }
  /// Tokens of each sequence that the next call of the model takes; 0 once it ended.
  [[nodiscard]] std::vector<std::int64_t> counts() const {
    std::vector<std::int64_t> result;
    for (std::size_t b = 0; b < prompts_.size(); ++b)
      result.push_back(!goes_on_[b] ? 0 : results_[b].tokens.empty() ? std::ssize(prompts_[b]) : 1);
    return result;
  }
  /// Those tokens, (batch, count), padded on the right.
  [[nodiscard]] std::vector<std::int64_t> next(std::int64_t count) const {
    std::vector<std::int64_t> tokens(prompts_.size() * static_cast<std::size_t>(count));
    for (std::size_t b = 0; b < prompts_.size(); ++b) {
      if (!goes_on_[b]) continue;
      std::int64_t* to = tokens.data() + b * static_cast<std::size_t>(count);
      if (!results_[b].tokens.empty()) *to = results_[b].tokens.back();
      else
        for (const std::int64_t token : prompts_[b]) *to++ = token;
    }
    return tokens;
  }
  /// The prompt and the tokens of a sequence.
  [[nodiscard]] std::vector<std::int64_t> history(std::size_t b) const {
    std::vector<std::int64_t> tokens = prompts_[b];
    tokens.insert(tokens.end(), results_[b].tokens.begin(), results_[b].tokens.end());
    return tokens;
  }
  void end(std::size_t b, Ended why) { results_[b].ended = why, goes_on_[b] = false; }
  void stop(std::size_t b, std::int64_t token) { end(b, Ended::stop_token), results_[b].stop_token = token; }
  void add(std::size_t b, std::int64_t token) { results_[b].tokens.push_back(token); }
  [[nodiscard]] bool goes_on(std::size_t b) const { return goes_on_[b]; }
  [[nodiscard]] std::int64_t added(std::size_t b) const { return std::ssize(results_[b].tokens); }
  [[nodiscard]] bool any() const {
    for (const bool each : goes_on_)
      if (each) return true;
    return false;
  }
  [[nodiscard]] std::vector<Generated>& results() { return results_; }

 private:
  const std::vector<std::vector<std::int64_t>>& prompts_;
  std::vector<Generated> results_;
  std::vector<bool> goes_on_;
};

/// Draws a token for each sequence that goes on, from logits (batch, vocab_size) on the host.
template <class R, class F>
void draw_tokens(Sequences& sequences, TokenSampler& sampler, const Tensor<R, Cpu>& logits,
                 const std::vector<std::int64_t>& room, const GenerateOptions& options, F& on_token) {
  const auto vocabulary = static_cast<std::size_t>(logits.size(1));
  for (std::size_t b = 0; b < room.size(); ++b) {
    if (!sequences.goes_on(b)) continue;
    const Span<const R> row(logits.data() + b * vocabulary, vocabulary);
    const auto before = options.repetition_penalty == 1 ? std::vector<std::int64_t>() : sequences.history(b);
    const std::int64_t token =
        sampler.draw(row, Span<const std::int64_t>(before), static_cast<std::uint64_t>(sequences.added(b)), b);
    bool stops = false;
    for (const std::int64_t each : options.stop) stops = stops || each == token;
    if (stops) {
      sequences.stop(b, token);
      continue;
    }
    sequences.add(b, token);
    if (!detail::goes_on(on_token, static_cast<std::int64_t>(b), token)) sequences.end(b, Ended::callback);
    else if (sequences.added(b) == options.max_new_tokens) sequences.end(b, Ended::most_tokens);
    else if (room[b] == 0) sequences.end(b, Ended::full);
  }
}

/// Runs the sequences to their ends.
template <class M, class F>
void run(const M& model, const nn::KeyValueCache<value_of<M>, device_of<M>>& cache, Sequences& sequences,
         const GenerateOptions& options, F& on_token) {
  TokenSampler sampler(options);
  std::int64_t count = sequences.longest();
  while (sequences.any()) {
    const auto tokens = from(sequences.next(count), {sequences.size(), count}, cache.device());
    const auto logits = model.next_logits(tokens, cache, sequences.counts());
    std::vector<std::int64_t> room;
    for (const std::int64_t length : cache.lengths()) room.push_back(cache.capacity() - length);
    const auto on_host = logits.template as<compute_t<value_of<M>>>().eval().template to<Cpu>().contiguous();
    draw_tokens(sequences, sampler, on_host, room, options, on_token);
    count = 1;
  }
}
LOCUS_OUT_OF_LINE inline void refuse_stop_texts(const GenerateOptions& options) {
  if (!options.stop_texts.empty())
    fail<ArgumentError>({"generate: .stop_texts needs a tokenizer; call generate_text, of models/generate_text.hpp"});
}
}  // namespace detail

/// Continues prompts, whose lengths may differ, behind the tokens of a cache. Sequence b draws number n of stream b of
/// the seed for its token n, so that the others change it by rounding alone.
/// Each token is passed to on_token(sequence, token) or on_token(token), but for a token of `stop`. Where on_token
/// returns false, the sequence ends. The cache then holds all but the last token of each sequence: its stop_token, or
/// else the last of its tokens. This token begins the next prompt of a conversation. The repetition penalty acts on the
/// tokens of the prompt and of the continuation; a cache does not know which tokens it holds.
/// cost:  the prompts at once, then a step of the model for each token, whose logits are copied to the host
/// throws ArgumentError for options out of range, and without a prompt; ShapeError unless there is a prompt for each
///        sequence of the cache, and for prompts that exceed it; IndexError for a token out of the vocabulary;
///        NumericError for a logit that is NaN
template <Decoder M, class F = detail::IgnoreToken>
std::vector<Generated> generate_batch(const M& model, const nn::KeyValueCache<value_of<M>, device_of<M>>& cache,
                                      const std::vector<std::vector<std::int64_t>>& prompts,
                                      const GenerateOptions& options = {}, F on_token = {}) {
  detail::refuse_stop_texts(detail::checked(options));
  detail::Sequences sequences(prompts, model.vocab_size());
  if (options.max_new_tokens > 0) detail::run(model, cache, sequences, options, on_token);
  return std::move(sequences.results());
}
/// The same with an empty cache.
/// throws ShapeError also for a prompt longer than the model takes
///
///     const auto all = models::generate_batch(model, prompts, {.max_new_tokens = 64, .temperature = 0.8});
///     for (const auto& [tokens, ended, stop_token] : all) ...
template <Decoder M, class F = detail::IgnoreToken>
std::vector<Generated> generate_batch(const M& model, const std::vector<std::vector<std::int64_t>>& prompts,
                                      const GenerateOptions& options = {}, F on_token = {}) {
  detail::refuse_stop_texts(detail::checked(options));
  const detail::Sequences sequences(prompts, model.vocab_size());
  const std::int64_t most = model.max_length(), longest = sequences.longest();
  if (longest > most)
    fail<ShapeError>({"generate: a prompt of ", longest, " tokens; expected at most ", most, ", as the model takes"});
  const std::int64_t capacity = options.max_new_tokens > most - longest ? most : longest + options.max_new_tokens;
  return generate_batch(model, model.cache({.batch = sequences.size(), .capacity = capacity}), prompts, options,
                        std::move(on_token));
}

/// Continues one prompt.
///
///     const auto result = models::generate(model, tokenizer.encode(text), {.temperature = 0},
///                                          [&](std::int64_t token) { std::cout << stream.push(token); });
template <Decoder M, class F = detail::IgnoreToken>
Generated generate(const M& model, const std::vector<std::int64_t>& prompt, const GenerateOptions& options = {},
                   F on_token = {}) {
  return std::move(generate_batch(model, {prompt}, options, std::move(on_token)).front());
}
/// The same behind the tokens of a cache of one sequence.
template <Decoder M, class F = detail::IgnoreToken>
Generated generate(const M& model, const nn::KeyValueCache<value_of<M>, device_of<M>>& cache,
                   const std::vector<std::int64_t>& prompt, const GenerateOptions& options = {}, F on_token = {}) {
  return std::move(generate_batch(model, cache, {prompt}, options, std::move(on_token)).front());
}
LOCUS_REFUSALS_BEGIN
#include <locus/refuse/models/generate.inc>
LOCUS_REFUSALS_END

}}}  // namespace locus::LOCUS_ABI::models
