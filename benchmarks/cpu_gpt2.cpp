// Tokens of the small GPT-2 of examples/text.cpp, asked for by benchmarks/gpt2.py line by line:
//
//   THREADS CLOCK BATCH STEPS TYPE WORK  ->  milliseconds of the fastest of so many runs
//
// by the wall's or the processor's clock. TYPE is float32 or bfloat16. WORK is "training": a step of BATCH windows of
// 64 tokens, forward, backward, clipping and AdamW; or "writing": the logits of the token after a window.

#include "support/fastest.hpp"

#include <locus/locus.hpp>
#include <locus/models/gpt2.hpp>

#include <iostream>
#include <string>

using namespace locus;

namespace {

constexpr std::int64_t context = 64;
constexpr models::GPT2Options options{
    .vocab_size = 256, .n_positions = context, .n_embd = 128, .n_layer = 3, .n_head = 4};

/// One model for all lines, as in the peer.
template <class T>
class Work {
 public:
  double fastest_of(int steps, std::int64_t batch, clockid_t clock, bool is_training) {
    const auto tokens = randint(0, 256, {batch, context}), next = randint(0, 256, {batch, context});
    double best = 1e9;
    for (int i = 0; i <= steps; ++i) {  // the first run is a warm-up
      const double begin = bench::seconds(clock);
      if (is_training) step(tokens, next);
      else written_ += argmax(model_(tokens).select(1, -1).select(0, 0)).item();
      const double taken = bench::seconds(clock) - begin;
      if (i > 0 && taken < best) best = taken;
    }
    return 1e3 * best;
  }
  /// Reads the result, so that no compiler eliminates its computation.
  [[nodiscard]] std::int64_t written() const { return written_; }

 private:
  void step(const Tensor<std::int64_t>& tokens, const Tensor<std::int64_t>& next) {
    optimizer_.zero_grad();
    model_.loss(trace(tokens), next).backward();
    optim::clip_grad_norm_(model_.parameters(), 1.0);
    optimizer_.step();
  }

  models::GPT2<T, Cpu> model_ = models::gpt2<T>(options);
  optim::AdamW<T, Cpu> optimizer_{model_.parameters(), {.lr = 0.002, .weight_decay = 0.1}};
  std::int64_t written_ = 0;
};

}  // namespace

int main() {
  Work<float> wide;
  Work<bfloat16> narrow;
  int threads = 0, steps = 0;
  std::string clock_name, type, work;
  std::int64_t batch = 0;
  while (std::cin >> threads >> clock_name >> batch >> steps >> type >> work) {
    cpu::set_max_threads(threads);
    const clockid_t clock = bench::clock_called(clock_name);
    const bool is_training = work == "training";
    std::cout << (type == "float32" ? wide.fastest_of(steps, batch, clock, is_training)
                                    : narrow.fastest_of(steps, batch, clock, is_training))
              << std::endl;
  }
  return wide.written() + narrow.written() < 0;
}
