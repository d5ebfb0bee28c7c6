// Tokens of two language models of random weights, asked for by benchmarks/generation.py line by line:
//
//   THREADS CLOCK MODEL TYPE TOKENS  ->  milliseconds of a prompt, of a token, of reading the weights
//
// by the wall's or the processor's clock. MODEL is gpt2 (124 million weights) or llama (122 million); TYPE is float32
// or bfloat16. The prompt has 512 tokens, and gives the logits after it; TOKENS tokens are generated behind it, one
// after the other, and the mean is given. Reading streams every byte of the weights through the registers once, which a
// token cannot do without.

#include "support/fastest.hpp"

#include <locus/locus.hpp>
#include <locus/models/gpt2.hpp>
#include <locus/models/llama.hpp>

#include <cstring>
#include <iostream>
#include <memory>
#include <string>

using namespace locus;

namespace {

constexpr std::int64_t prompt_length = 512, most_generated = 64;

/// The exclusive or of all words, so that no compiler eliminates the loads.
std::uint64_t words_of(const char* bytes, std::int64_t count) {
  typedef std::uint64_t Words __attribute__((vector_size(16)));
  constexpr int together = 8;
  Words words[together] = {};
  for (std::int64_t at = 0; at + 16 * together <= count; at += 16 * together) {
#pragma GCC unroll 8
    for (int i = 0; i < together; ++i) {
      Words loaded;
      std::memcpy(&loaded, bytes + at + 16 * i, sizeof loaded);
      words[i] ^= loaded;
    }
  }
  for (int i = 1; i < together; ++i) words[0] ^= words[i];
  return words[0][0] ^ words[0][1];
}

struct Work {
  virtual ~Work() = default;
  virtual void prefill() = 0;
  virtual void generate(std::int64_t count) = 0;
  virtual void read() = 0;
  std::uint64_t result = 0;  ///< of all work, read in the end
};

template <class Model>
class WorkOf final : public Work {
  using T = value_of<Model>;

 public:
  explicit WorkOf(Model model) : model_(std::move(model)) { prefill(); }

  void prefill() override {
    cache_.reset();
    choose(model_.next_logits(prompt_, cache_));
  }
  void generate(std::int64_t count) override {
    for (std::int64_t i = 0; i < count; ++i) choose(model_.next_logits(next_, cache_));
  }
  void read() override {
    constexpr std::int64_t part = 1 << 18;
    for (const auto& parameter : model_.parameters()) {
      const auto& value = parameter.value();
      const std::int64_t bytes = value.elements() * std::int64_t{sizeof(T)}, parts = (bytes + part - 1) / part;
      std::vector<std::uint64_t> words(static_cast<std::size_t>(parts));
      cpu::parallel_for(parts, [&](std::int64_t i) {
        words[static_cast<std::size_t>(i)] =
            words_of(reinterpret_cast<const char*>(value.data()) + i * part, std::min(part, bytes - i * part));
      });
      for (const std::uint64_t word : words) result ^= word;
    }
  }

 private:
  void choose(const Tensor<T>& logits) {
    const std::int64_t token = argmax(logits.select(0, 0)).item();
    next_.fill_(token);
    result += static_cast<std::uint64_t>(token);
  }

  Model model_;
  Tensor<std::int64_t> prompt_ = randint(0, 32000, {1, prompt_length}), next_ = full<std::int64_t>({1, 1}, 0);
  nn::KeyValueCache<T, Cpu> cache_ = model_.cache({.batch = 1, .capacity = prompt_length + most_generated});
};

template <class T>
std::unique_ptr<Work> work_of(const std::string& model) {
  if (model == "gpt2") return std::make_unique<WorkOf<models::GPT2<T, Cpu>>>(models::gpt2<T>({}));
  return std::make_unique<WorkOf<models::Llama<T, Cpu>>>(models::llama<T>({.hidden_size = 1024,
                                                                           .intermediate_size = 2816,
                                                                           .num_hidden_layers = 8,
                                                                           .num_attention_heads = 16,
                                                                           .num_key_value_heads = 4,
                                                                           .tie_word_embeddings = true}));
}

}  // namespace

int main() {
  std::unique_ptr<Work> kept[2][2];
  int threads = 0;
  std::int64_t tokens = 0;
  std::string clock_name, model, type;
  while (std::cin >> threads >> clock_name >> model >> type >> tokens) {
    cpu::set_max_threads(threads);
    std::unique_ptr<Work>& of = kept[model == "gpt2"][type == "float32"];
    if (!of) of = type == "float32" ? work_of<float>(model) : work_of<bfloat16>(model);
    const clockid_t clock = bench::clock_called(clock_name);
    const double begin = bench::seconds(clock);
    of->prefill();
    const double after_prompt = bench::seconds(clock);
    of->generate(tokens);
    const double after_tokens = bench::seconds(clock);
    of->read();
    const double end = bench::seconds(clock);
    std::cout << 1e3 * (after_prompt - begin) << " "
              << 1e3 * (after_tokens - after_prompt) / static_cast<double>(tokens) << " " << 1e3 * (end - after_tokens)
              << std::endl;
  }
  std::uint64_t all = 0;
  for (const auto& models : kept)
    for (const auto& each : models) all ^= each ? each->result : 0;
  return all == 1;
}
