// Attention on the host, asked for by benchmarks/attention.py line by line:
//
//   THREADS CLOCK TYPE BATCH HEADS LENGTH WIDTH CAUSAL  ->  milliseconds of the value, and of a step: the value and all
//                                                           gradients
//
// each the fastest of some runs, by the wall's or the processor's clock.

#include <locus/locus.hpp>

#include <ctime>
#include <iostream>
#include <string>

using namespace locus;

namespace {

double seconds(clockid_t clock) {
  timespec now{};
  clock_gettime(clock, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

template <class F>
double fastest(clockid_t clock, const F& run) {
  double best = 1e9, total = 0;
  for (int i = 0; i < 20 && (i < 3 || total < 0.3); ++i) {
    const double begin = seconds(clock);
    run();
    const double taken = seconds(clock) - begin;
    best = taken < best ? taken : best;
    total += taken;
  }
  return 1e3 * best;
}

template <class T>
void measure(clockid_t clock, const Shape& shape, bool is_causal) {
  const auto q = variable(randn<T>(shape)), k = variable(randn<T>(shape)), v = variable(randn<T>(shape));
  const auto g = randn<T>(shape);
  std::cout << fastest(clock, [&] {
    (void)scaled_dot_product_attention(q.value(), k.value(), v.value(), {.is_causal = is_causal});
  }) << " ";
  std::cout << fastest(clock, [&] {
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
    const clockid_t clock = clock_name == "processor" ? CLOCK_PROCESS_CPUTIME_ID : CLOCK_MONOTONIC;
    if (type == "bfloat16") measure<bfloat16>(clock, {batch, heads, length, width}, is_causal);
    else measure<float>(clock, {batch, heads, length, width}, is_causal);
  }
}
