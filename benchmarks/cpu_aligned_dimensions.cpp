// Square products on the host, asked for by benchmarks/aligned_dimensions.py line by line:
//
//   THREADS CLOCK TYPE SIZE  ->  nanoseconds of a multiply-add of the fastest run, by the wall's or the processor's
//   clock

#include "support/fastest.hpp"

#include <locus/ops/matmul.hpp>
#include <locus/tensor/random.hpp>

#include <iostream>
#include <string>

using namespace locus;

namespace {

/// Seconds of runs of each.
constexpr double budget = 0.3;

template <class T>
double measure(clockid_t clock, std::int64_t size) {
  const Tensor<T, Cpu> a = randn<float>({size, size}).as<T>(), b = randn<float>({size, size}).as<T>();
  const auto each = static_cast<double>(size);
  return 1e6 * bench::fastest(clock, budget, [&] { return matmul(a, b); }) / (each * each * each);
}

}  // namespace

int main() {
  int threads = 0;
  std::int64_t size = 0;
  std::string clock_name, type;
  while (std::cin >> threads >> clock_name >> type >> size) {
    cpu::set_max_threads(threads);
    const clockid_t clock = bench::clock_called(clock_name);
    std::cout << (type == "bfloat16" ? measure<bfloat16>(clock, size) : measure<float>(clock, size)) << std::endl;
  }
}
