// The passes of convolutions on the host, asked for by benchmarks/conv.py line by line:
//
//   THREADS CLOCK TYPE BATCH IN OUT GROUPS SIZE KERNEL STRIDE EXACT CHANNELS_LAST
//     ->  milliseconds of the value and both gradients
//
// each the fastest of some runs, by the wall's or the processor's clock. TYPE is float32 or bfloat16. CHANNELS_LAST is
// the memory format of images and their gradients.

#include "support/fastest.hpp"

#include <locus/locus.hpp>

#include <iostream>
#include <string>

using namespace locus;

/// Seconds of runs of each pass.
constexpr double budget = 0.15;

namespace {

struct Case {
  std::int64_t batch, in, out, groups, size, kernel, stride;
  bool exact, channels_last;
};

template <class T>
void measure(clockid_t clock, const Case& of) {
  const auto random = [](const Shape& shape) -> Tensor<T> { return randn<float>(shape).as<T>(); };
  const auto in_format = [&](const Tensor<T>& images) { return of.channels_last ? images.channels_last() : images; };
  const auto x = in_format(random({of.batch, of.in, of.size, of.size}));
  const auto w = random({of.out, of.in / of.groups, of.kernel, of.kernel});
  const Conv2dOptions options{.stride = of.stride, .padding = of.kernel / 2, .groups = of.groups, .exact = of.exact};
  const auto g = in_format(random(conv2d(x, w, options).shape()));
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

}  // namespace

int main() {
  int threads = 0;
  std::string clock_name, type;
  Case of{};
  while (std::cin >> threads >> clock_name >> type >> of.batch >> of.in >> of.out >> of.groups >> of.size >>
         of.kernel >> of.stride >> of.exact >> of.channels_last) {
    cpu::set_max_threads(threads);
    const clockid_t clock = bench::clock_called(clock_name);
    if (type == "float32") measure<float>(clock, of);
    else measure<bfloat16>(clock, of);
  }
}
