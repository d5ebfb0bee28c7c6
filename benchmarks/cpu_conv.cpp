// The passes of convolutions on the host, asked for by benchmarks/conv.py line by line:
//
//   THREADS CLOCK BATCH IN OUT SIZE KERNEL STRIDE EXACT  ->  milliseconds of the value and both gradients
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
  for (int i = 0; i < 20 && (i < 3 || total < 0.15); ++i) {
    const double begin = seconds(clock);
    run();
    const double taken = seconds(clock) - begin;
    best = taken < best ? taken : best;
    total += taken;
  }
  return 1e3 * best;
}

}  // namespace

int main() {
  int threads = 0;
  std::string clock_name;
  std::int64_t batch = 0, in = 0, out = 0, size = 0, kernel = 0, stride = 0;
  bool exact = false;
  while (std::cin >> threads >> clock_name >> batch >> in >> out >> size >> kernel >> stride >> exact) {
    cpu::set_max_threads(threads);
    const clockid_t clock = clock_name == "processor" ? CLOCK_PROCESS_CPUTIME_ID : CLOCK_MONOTONIC;
    const auto x = randn<float>({batch, in, size, size}), w = randn<float>({out, in, kernel, kernel});
    const Conv2dOptions options{.stride = stride, .padding = kernel / 2, .exact = exact};
    const auto y = conv2d(x, w, options), g = randn<float>(y.shape());
    const auto images = variable(x), weights = variable(w);
    const auto of_images = conv2d(images, w, options), of_weights = conv2d(x, weights, options);
    std::cout << fastest(clock, [&] { (void)conv2d(x, w, options); });
    for (const auto* result : {&of_images, &of_weights}) {
      std::cout << " " << fastest(clock, [&] {
        images.zero_grad(), weights.zero_grad();
        result->backward(g, {.retain_graph = true});
      });
    }
    std::cout << std::endl;
  }
}
