// The loss of a language model's last layer with its gradients, asked for by benchmarks/linear_cross_entropy.py line by
// line:
//
//   THREADS CLOCK ROWS WIDTH CLASSES TYPE WAY  ->  milliseconds of the fastest run, megabytes at their peak
//
// by the wall's or the processor's clock. TYPE is float32 or bfloat16. WAY is "chunks", linear_cross_entropy, or
// "whole", cross_entropy(linear(...)). The megabytes are of all lines so far, without operands.

#include "support/fastest.hpp"

#include <locus/locus.hpp>

#include <iostream>
#include <string>

using namespace locus;

namespace {

template <class T>
double fastest_of(std::int64_t rows, std::int64_t width, std::int64_t classes, bool in_chunks, clockid_t clock,
                  double& megabytes) {
  const auto x = variable(nn::init::normal_(Tensor<T>({rows, width})));
  const auto w = variable(nn::init::normal_(Tensor<T>({classes, width}), 0, 0.02));
  const auto targets = randint(0, classes, {rows});
  const std::int64_t operands = memory_stats<Cpu>().allocated_bytes;
  const double best = bench::fastest(clock, 2, [&] {
    x.zero_grad(), w.zero_grad();
    if (in_chunks) linear_cross_entropy(x, w, targets).backward();
    else if constexpr (std::is_same_v<T, float>) cross_entropy(linear(x, w), targets).backward();
    else cross_entropy(linear(x, w).template as<float>(), targets).backward();
  });
  megabytes = 1e-6 * static_cast<double>(memory_stats<Cpu>().peak_bytes - operands);
  return best;
}

}  // namespace

int main() {
  manual_seed(1);
  int threads = 0;
  std::int64_t rows = 0, width = 0, classes = 0;
  std::string clock_name, type, way;
  while (std::cin >> threads >> clock_name >> rows >> width >> classes >> type >> way) {
    cpu::set_max_threads(threads);
    const auto measure = type == "float32" ? fastest_of<float> : fastest_of<bfloat16>;
    double megabytes = 0;
    const double best = measure(rows, width, classes, way == "chunks", bench::clock_called(clock_name), megabytes);
    std::cout << best << " " << megabytes << std::endl;
  }
}
