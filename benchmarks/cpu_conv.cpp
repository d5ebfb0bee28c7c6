// The passes of convolutions on the host, asked for by benchmarks/conv.py line by line:
//
//   THREADS CLOCK BATCH IN OUT SIZE KERNEL STRIDE EXACT  ->  milliseconds of the value and both gradients
//
// each the fastest of some runs, by the wall's or the processor's clock.

#include "support/fastest.hpp"

#include <locus/locus.hpp>

#include <iostream>
#include <string>

using namespace locus;

/// Seconds of runs of each pass.
constexpr double budget = 0.15;

int main() {
  int threads = 0;
  std::string clock_name;
  std::int64_t batch = 0, in = 0, out = 0, size = 0, kernel = 0, stride = 0;
  bool exact = false;
  while (std::cin >> threads >> clock_name >> batch >> in >> out >> size >> kernel >> stride >> exact) {
    cpu::set_max_threads(threads);
    const clockid_t clock = bench::clock_called(clock_name);
    const auto x = randn<float>({batch, in, size, size}), w = randn<float>({out, in, kernel, kernel});
    const Conv2dOptions options{.stride = stride, .padding = kernel / 2, .exact = exact};
    const auto y = conv2d(x, w, options), g = randn<float>(y.shape());
    const auto images = variable(x), weights = variable(w);
    const auto of_images = conv2d(images, w, options), of_weights = conv2d(x, weights, options);
    std::cout << bench::fastest(clock, budget, [&] { (void)conv2d(x, w, options); });
    for (const auto* result : {&of_images, &of_weights}) {
      std::cout << " " << bench::fastest(clock, budget, [&] {
        images.zero_grad(), weights.zero_grad();
        result->backward(g, {.retain_graph = true});
      });
    }
    std::cout << std::endl;
  }
}
