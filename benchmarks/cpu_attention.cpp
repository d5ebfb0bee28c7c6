// Attention on the host, asked for by benchmarks/attention.py line by line:
//
//   THREADS CLOCK TYPE BATCH HEADS LENGTH WIDTH CAUSAL  ->  milliseconds of the value, and of a step: the value and all
//                                                           gradients
//
// each the fastest of some runs, by the wall's or the processor's clock.

#include "support/fastest.hpp"

#include <locus/locus.hpp>

#include <iostream>
#include <string>

using namespace locus;

namespace {

/// Seconds of runs of each.
constexpr double budget = 0.3;

template <class T>
void measure(clockid_t clock, const Shape& shape, bool is_causal) {
  const auto q = variable(randn<T>(shape)), k = variable(randn<T>(shape)), v = variable(randn<T>(shape));
  const auto g = randn<T>(shape);
  std::cout << bench::fastest(clock, budget, [&] {
    (void)scaled_dot_product_attention(q.value(), k.value(), v.value(), {.is_causal = is_causal});
  }) << " ";
  std::cout << bench::fastest(clock, budget, [&] {
    q.zero_grad(), k.zero_grad(), v.zero_grad();
    scaled_dot_product_attention(q, k, v, {.is_causal = is_causal}).backward(g);
  }) << std::endl;
}

}  // namespace

int main() {
  int threads = 0;
  std::string clock_name, type;
  std::int64_t batch = 0, heads = 0, length = 0, width = 0;
  bool is_causal = false;
  while (std::cin >> threads >> clock_name >> type >> batch >> heads >> length >> width >> is_causal) {
    cpu::set_max_threads(threads);
    const clockid_t clock = bench::clock_called(clock_name);
    if (type == "bfloat16") measure<bfloat16>(clock, {batch, heads, length, width}, is_causal);
    else measure<float>(clock, {batch, heads, length, width}, is_causal);
  }
}
