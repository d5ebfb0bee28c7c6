// Products of several dimensions on the host, asked for by benchmarks/products.py line by line:
//
//   THREADS CLOCK NAME  ->  milliseconds of the fastest run, by the wall's or the processor's clock

#include "support/fastest.hpp"

#include <locus/locus.hpp>
#include <locus/ops/cdist.hpp>
#include <locus/ops/einsum.hpp>

#include <iostream>
#include <string>

using namespace locus;

namespace {

/// Seconds of runs of each.
constexpr double budget = 0.5;

double measure(clockid_t clock, const std::string& name) {
  const auto time = [clock](const auto& run) { return bench::fastest(clock, budget, run); };
  const Shape heads{8, 256, 8, 64};  // batch, length, heads, width
  if (name == "einsum_scores") {
    const auto q = randn<float>(heads), k = randn<float>(heads);
    return time([&] { return einsum("blhd,bshd->bhls", q, k); });
  }
  if (name == "einsum_scores_apart") {
    const auto q = randn<float>({8, 8, 256, 64}), k = randn<float>({8, 8, 256, 64});
    return time([&] { return einsum("bhld,bhsd->bhls", q, k); });
  }
  if (name == "einsum_values") {
    const auto weights = randn<float>({8, 8, 256, 256}), v = randn<float>(heads);
    return time([&] { return einsum("bhls,bshd->blhd", weights, v); });
  }
  if (name == "einsum_bilinear") {
    const auto x = randn<float>({4096, 64}), y = randn<float>({4096, 64}), w = randn<float>({64, 64, 64});
    return time([&] { return einsum("ni,nj,oij->no", x, y, w); });
  }
  if (name == "cdist") {
    const auto x = randn<float>({2048, 64}), y = randn<float>({2048, 64});
    return time([&] { return cdist(x, y); });
  }
  std::cerr << "cpu_products: no product called " << name << "\n";
  std::exit(2);
}

}  // namespace

int main() {
  int threads = 0;
  std::string clock_name, name;
  while (std::cin >> threads >> clock_name >> name) {
    cpu::set_max_threads(threads);
    std::cout << measure(bench::clock_called(clock_name), name) << std::endl;
  }
}
