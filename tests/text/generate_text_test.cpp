// Runs on: host.
#include <locus/models/generate_text.hpp>
#include <locus/text/train_bpe.hpp>

#include <support/thrown.hpp>

#include <doctest/doctest.h>

using namespace locus;

namespace {

/// A decoder that says a text, whatever the prompt of one token is.
struct Recital {
  using value_type = float;
  using device_type = Cpu;
  std::vector<std::int64_t> tokens;
  std::int64_t vocabulary;

  [[nodiscard]] std::int64_t vocab_size() const { return vocabulary; }
  [[nodiscard]] std::int64_t max_length() const { return 100; }
  [[nodiscard]] nn::KeyValueCache<float, Cpu> cache(const nn::CacheSize& size) const {
    return nn::KeyValueCache<float, Cpu>(
        {.layers = 1, .batch = size.batch, .heads = 1, .head_width = 1, .capacity = size.capacity.value_or(100)});
  }
  [[nodiscard]] Tensor<float, Cpu> next_logits(const Tensor<std::int64_t, Cpu>& ids,
                                               const nn::KeyValueCache<float, Cpu>& cache,
                                               const std::vector<std::int64_t>& counts) const {
    const Tensor<float, Cpu> logits({1, vocabulary});
    logits.fill_(0);
    logits.data()[tokens[static_cast<std::size_t>(cache.length()) % tokens.size()]] = 100;
    cache.step(ids.shape(), counts).commit();
    return logits;
  }
};

[[nodiscard]] const text::Tokenizer& bytes() {
  static const text::Tokenizer tokenizer =
      text::train_bpe(std::vector<std::string_view>{}, {.vocab_size = 257, .special_tokens = {"<end>"}});
  return tokenizer;
}
/// The parts of a recited text, with "|" between them.
[[nodiscard]] std::string recited(std::string_view said, const models::GenerateOptions& options, models::Ended ended) {
  const Recital model{bytes().encode(said), 260};
  std::string parts;
  const auto result = models::generate_text(model, bytes(), "x", options,
                                            [&](std::string_view part) { parts.append(part).append("|"); });
  CHECK(result.ended == ended);
  std::string joined;
  for (const char c : parts)
    if (c != '|') joined += c;
  CHECK(joined == result.text);
  return parts;
}
}  // namespace

TEST_CASE("text comes in whole characters, without special tokens") {
  CHECK(recited("a\u00e9\U0001F642!", {.max_new_tokens = 8}, models::Ended::most_tokens) == "a|\u00e9|\U0001F642|!|");
  CHECK(recited("a\U0001F642", {.max_new_tokens = 3}, models::Ended::most_tokens) == "a|\uFFFD|");
  CHECK(recited("a<end>b", {.max_new_tokens = 3}, models::Ended::most_tokens) == "a|b|");
  const std::int64_t end = *bytes().token_to_id("<end>");
  CHECK(recited("ab<end>c", {.stop = {end}}, models::Ended::stop_token) == "a|b|");
  const Recital model{bytes().encode("a<end>"), 260};
  CHECK(models::generate_text(model, bytes(), "x", {.stop = {end}}).stop_token == end);
}

TEST_CASE("a stop text ends the text, and no part of it is passed on") {
  CHECK(recited("one\n\ntwo", {.stop_texts = {"\n\n"}}, models::Ended::stop_text) == "o|n|e|");
  CHECK(recited("a\nb\n\n", {.stop_texts = {"\n\n"}}, models::Ended::stop_text) == "a|\nb|");
  CHECK(recited("aabab!", {.max_new_tokens = 6, .stop_texts = {"abb", "ba!"}}, models::Ended::most_tokens) ==
        "a|a|b|ab!|");
  CHECK(recited("aab", {.max_new_tokens = 3, .stop_texts = {"abb", "zz"}}, models::Ended::most_tokens) == "a|ab|");
  models::StopTexts stops({"<|end|>", "end"});
  CHECK((stops.push("one <|en") == "one " && stops.push("d|> two") == "<|" && stops.found()));
  CHECK((stops.push("more").empty() && stops.finish().empty()));
}

TEST_CASE("callbacks end the text, tokens without a text have none, and texts go on behind a cache") {
  const Recital model{{*bytes().token_to_id("a"), 259, *bytes().token_to_id("b")}, 260};
  int calls = 0;
  const auto stopped = models::generate_text(model, bytes(), "x", {.stop_texts = {"ax"}}, [&](std::string_view) {
    ++calls;
    return false;
  });
  CHECK((calls == 1 && stopped.text == "ab" && stopped.ended == models::Ended::callback));
  const auto cache = model.cache({});
  CHECK(models::generate_text(model, bytes(), cache, {1}, {.max_new_tokens = 1}).text == "a");
  CHECK(models::generate_text(model, bytes(), cache, {1, 1}, {.max_new_tokens = 3}).text == "a");
  CHECK(cache.length() == 5);
  CHECK_THROWS_AS((void)models::generate_text(model, bytes(), "", {}), ArgumentError);
  CHECK_THROWS_AS((void)models::generate_text(model, bytes(), "x", {.stop_texts = {""}}), ArgumentError);
}
