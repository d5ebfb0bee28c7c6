// Recurrent layers on the host, asked for by benchmarks/recurrent.py line by line:
//
//   THREADS CLOCK LAYER STEPS BATCH INPUT HIDDEN  ->  milliseconds of the value, and of a step: the value and all
//                                                     gradients
//
// each the fastest of some runs, by the wall's or the processor's clock.

#include "support/fastest.hpp"

#include <locus/locus.hpp>
#include <locus/nn/recurrent.hpp>

#include <iostream>
#include <string>

using namespace locus;

namespace {

/// Seconds of runs of each.
constexpr double budget = 0.5;

template <class L>
void measure(clockid_t clock, std::int64_t steps, std::int64_t batch, std::int64_t input, std::int64_t hidden) {
  const L layer{input, hidden};
  const auto x = variable(randn<float>({steps, batch, input}));
  const auto g = randn<float>({steps, batch, hidden});
  std::cout << bench::fastest(clock, budget, [&] { (void)layer(x.value()); }) << " ";
  std::cout << bench::fastest(clock, budget, [&] {
    x.zero_grad(), layer.zero_grad();
    layer(x).output.backward(g);
  }) << std::endl;
}

}  // namespace

int main() {
  int threads = 0;
  std::string clock_name, layer;
  std::int64_t steps = 0, batch = 0, input = 0, hidden = 0;
  while (std::cin >> threads >> clock_name >> layer >> steps >> batch >> input >> hidden) {
    cpu::set_max_threads(threads);
    const clockid_t clock = bench::clock_called(clock_name);
    if (layer == "LSTM") measure<nn::LSTM<float, Cpu>>(clock, steps, batch, input, hidden);
    else if (layer == "GRU") measure<nn::GRU<float, Cpu>>(clock, steps, batch, input, hidden);
    else measure<nn::RNN<float, Cpu>>(clock, steps, batch, input, hidden);
  }
}
