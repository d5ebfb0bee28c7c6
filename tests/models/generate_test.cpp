// Runs on: host.
#include <locus/models/generate.hpp>
#include <locus/models/gpt2.hpp>

#ifndef LOCUS_TEST_DEVICES
#define LOCUS_TEST_DEVICES locus::Cpu
#endif
#include <golden/models.hpp>
#include <support/thrown.hpp>

#include <limits>

using namespace locus;
using namespace locus_test;

namespace {

/// A decoder whose next token follows from a table: after token t comes next[t], and logits have a gap of 10.
struct Table {
  using value_type = float;
  using device_type = Cpu;
  std::vector<std::int64_t> next;
  std::int64_t positions = 16;

  [[nodiscard]] std::int64_t vocab_size() const { return std::ssize(next); }
  [[nodiscard]] std::int64_t max_length() const { return positions; }
  [[nodiscard]] nn::KeyValueCache<float, Cpu> cache(const nn::CacheSize& size) const {
    return nn::KeyValueCache<float, Cpu>(
        {.layers = 1, .batch = size.batch, .heads = 1, .head_width = 1, .capacity = size.capacity.value_or(positions)});
  }
  [[nodiscard]] Tensor<float, Cpu> next_logits(const Tensor<std::int64_t, Cpu>& tokens,
                                               const nn::KeyValueCache<float, Cpu>& cache,
                                               const std::vector<std::int64_t>& counts) const {
    const auto step = cache.step(tokens.shape(), counts);
    const Tensor<float, Cpu> logits({tokens.size(0), vocab_size()});
    logits.fill_(0);
    for (std::int64_t b = 0; b < tokens.size(0); ++b) {
      const std::int64_t count = step.counts()[static_cast<std::size_t>(b)];
      if (count == 0) continue;
      const std::int64_t last = tokens.data()[b * tokens.size(1) + count - 1];
      logits.data()[b * vocab_size() + next[static_cast<std::size_t>(last)]] = 10;
    }
    step.commit();
    return logits;
  }
};
static_assert(models::Decoder<Table> && models::Decoder<models::GPT2<float, Cpu>> &&
              !models::Decoder<Tensor<float, Cpu>>);

using Tokens = std::vector<std::int64_t>;

models::GPT2<double, Cpu> reference_model() {
  const auto model =
      models::gpt2<double>({.vocab_size = 13, .n_positions = 8, .n_embd = 12, .n_layer = 2, .n_head = 3});
  golden::fill(model);
  return model;
}

}  // namespace

TEST_CASE("distributions after the filters are those of transformers") {
  const struct {
    const char* name;
    models::GenerateOptions options;
  } cases[] = {{"plain", {}},
               {"temperature", {.temperature = 0.6}},
               {"top_k", {.top_k = 7}},
               {"top_p", {.top_p = 0.7}},
               {"min_p", {.min_p = 0.2}},
               {"penalty", {.repetition_penalty = 1.7}},
               {"all", {.temperature = 1.5, .top_k = 12, .top_p = 0.8, .min_p = 0.3, .repetition_penalty = 1.3}}};
  const auto& logits = golden::reference("generation_logits").values;
  Tokens previous;
  for (const double token : golden::reference("generation_previous").values)
    previous.push_back(static_cast<std::int64_t>(token));
  for (const auto& each : cases) {
    const std::string name = each.name;
    CAPTURE(name);
    models::TokenSampler sampler(each.options);
    std::vector<double> all;
    for (std::size_t row = 0; row < 4; ++row) {
      const auto one = sampler.probabilities(Span<const double>(logits.data() + 30 * row, 30),
                                             Span<const std::int64_t>(previous.data() + 9 * row, 9));
      all.insert(all.end(), one.begin(), one.end());
    }
    CHECK(difference_of(all, golden::reference(join("generation_", name)).values, 1e-9) == "");
  }
}

TEST_CASE("draws follow the distribution, and the seed") {
  const std::vector<float> logits{1, 3, 2, -50, 2.5f};
  models::TokenSampler sampler({.top_k = 3, .seed = 5}), again({.top_k = 3, .seed = 5}), other({.top_k = 3, .seed = 6});
  const auto expected = sampler.probabilities(Span<const float>(logits));
  std::vector<double> counts(5);
  constexpr int draws = 20000;
  int changed = 0, repeated = 0;
  for (std::uint64_t i = 0; i < draws; ++i) {
    const std::int64_t token = sampler.draw(Span<const float>(logits), {}, i);
    ++counts[static_cast<std::size_t>(token)];
    repeated += again.draw(Span<const float>(logits), {}, i) == token;
    changed += other.draw(Span<const float>(logits), {}, i) != token;
  }
  CHECK((repeated == draws && changed > draws / 4));
  for (std::size_t i = 0; i < 5; ++i) {  // five standard deviations
    const double p = expected[i];
    CHECK(std::abs(counts[i] - p * draws) <= 5 * std::sqrt(draws * p * (1 - p)));
  }
}

TEST_CASE("greedy tokens are those of transformers, alone and in a batch") {
  const auto model = reference_model();
  const std::vector<Tokens> prompts{{4}, {4, 5}, {4, 5, 6}};
  for (const auto& [name, penalty] : {std::pair("greedy", 1.0), std::pair("greedy_penalty", 1.8)}) {
    const models::GenerateOptions options{.max_new_tokens = 5, .temperature = 0, .repetition_penalty = penalty};
    const auto together = models::generate_batch(model, prompts, options);
    for (std::size_t b = 0; b < prompts.size(); ++b) {
      std::vector<double> tokens(together[b].tokens.begin(), together[b].tokens.end());
      CHECK(tokens == golden::reference(join("generation_", name, "_", b + 1)).values);
      CHECK(models::generate(model, prompts[b], options).tokens == together[b].tokens);
    }
  }
  const models::GenerateOptions drawn{.max_new_tokens = 5, .top_p = 0.9, .seed = 3};
  const auto first = models::generate_batch(model, prompts, drawn),
             second = models::generate_batch(model, prompts, drawn);
  for (std::size_t b = 0; b < prompts.size(); ++b) CHECK(first[b].tokens == second[b].tokens);
}

TEST_CASE("sequences end by tokens, counts, callbacks and full caches") {
  const Table model{{1, 2, 3, 4, 5, 0}};
  const models::GenerateOptions greedy{.max_new_tokens = 4, .temperature = 0, .stop = {4}};
  std::vector<Tokens> seen(3);
  const auto all = models::generate_batch(model, {{0}, {5, 2}, {3}}, greedy, [&](std::int64_t b, std::int64_t token) {
    seen[static_cast<std::size_t>(b)].push_back(token);
  });
  CHECK(all[0].tokens == Tokens{1, 2, 3});
  CHECK(all[1].tokens == Tokens{3});
  CHECK(all[2].tokens == Tokens{});
  for (std::size_t b = 0; b < 3; ++b) {
    CHECK((all[b].ended == models::Ended::stop_token && seen[b] == all[b].tokens));
    CHECK(all[b].stop_token == 4);
  }

  const auto [tokens, ended, stop_token] = models::generate(model, {0}, {.max_new_tokens = 9, .temperature = 0},
                                                            [](std::int64_t token) { return token != 2; });
  CHECK((tokens == Tokens{1, 2} && ended == models::Ended::callback && !stop_token));
  CHECK(models::generate(model, {0}, {.max_new_tokens = 0}).tokens.empty());
  CHECK(models::generate(model, {0}, {.max_new_tokens = 2}).ended == models::Ended::most_tokens);

  const auto full = models::generate(Table{{1, 0}, 3}, {0, 1}, {.max_new_tokens = 9, .temperature = 0});
  CHECK((full.tokens == Tokens{0, 1} && full.ended == models::Ended::full));
  CHECK(to_string(full.ended) == "full");
}

TEST_CASE("a conversation goes on behind its cache") {
  const auto model = reference_model();
  const models::GenerateOptions options{.max_new_tokens = 2, .temperature = 0};
  const auto cache = model.cache({.batch = 1});
  const auto first = models::generate(model, cache, {4, 5}, options);
  CHECK(cache.length() == 3);
  const auto second = models::generate(model, cache, {first.tokens[1], 6, 7}, options);
  Tokens whole{4, 5};
  whole.insert(whole.end(), first.tokens.begin(), first.tokens.end());
  for (const std::int64_t token : {6, 7}) whole.push_back(token);
  CHECK(second.tokens == models::generate(model, whole, options).tokens);
}

TEST_CASE("mistakes of generation throw") {
  const Table model{{1, 0}};
  const auto message = [&](const std::vector<Tokens>& prompts, const models::GenerateOptions& options) {
    return message_of<Error>([&] { (void)models::generate_batch(model, prompts, options); });
  };
  CHECK(message({}, {}) == "generate: no prompt; expected at least one");
  CHECK(contains(message({{0}, {}}, {}), "prompt 1 is empty"));
  CHECK(contains(message({{0, 2}}, {}), "prompt 0 has the token 2; expected 0 to 1"));
  CHECK(contains(message({Tokens(17)}, {}), "a prompt of 17 tokens; expected at most 16"));
  CHECK(contains(message({{0}}, {.temperature = -1}), ".temperature is -1; expected"));
  CHECK(contains(message({{0}}, {.top_p = 1.5}), ".top_p = 1.5; expected a number from 0 to 1"));
  CHECK(contains(message({{0}}, {.top_k = -1}), ".top_k = -1"));
  CHECK(contains(message({{0}}, {.repetition_penalty = 0}), ".repetition_penalty = 0"));
  CHECK(contains(message({{0}}, {.stop_texts = {"x"}}), "call generate_text"));
  CHECK_THROWS_AS((void)models::generate_batch(model, model.cache({.batch = 2}), {{0}}), ShapeError);
  auto moved = reference_model();
  const auto other = std::move(moved);
  CHECK_THROWS_AS((void)moved.cache(), ArgumentError);
  models::TokenSampler sampler;
  constexpr float inf = std::numeric_limits<float>::infinity(), nan = std::numeric_limits<float>::quiet_NaN();
  for (const std::vector<float>& logits : {std::vector<float>{0, nan}, {inf, 0}, {-inf, -inf}, {}})
    CHECK_THROWS_AS((void)sampler.draw(Span<const float>(logits), {}, 0), NumericError);
  CHECK(sampler.draw(Span<const float>(std::vector<float>{-inf, 0}), {}, 0) == 1);
}
