// Functions of NumPy and PyTorch on the host, asked for by benchmarks/functions.py line by line:
//
//   THREADS CLOCK NAME  ->  milliseconds of the fastest run, by the wall's or the processor's clock

#include "support/fastest.hpp"

#include <locus/locus.hpp>
#include <locus/ops/cdist.hpp>
#include <locus/ops/einsum.hpp>
#include <locus/ops/scatter.hpp>
#include <locus/ops/sort.hpp>

#include <iostream>
#include <string>

using namespace locus;

namespace {

/// Seconds of runs of each.
constexpr double budget = 0.5;

/// `count` indices below `size`.
Tensor<std::int64_t> indices(const Shape& shape, std::int64_t size) {
  return (rand<double>(shape) * static_cast<double>(size)).as<std::int64_t>();
}

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
  if (name == "embedding_gradient") {
    const auto table = variable(randn<float>({100000, 64}));
    const auto chosen = indices({1000000}, 100000);
    const auto g = randn<float>({1000000, 64});
    const auto y = embedding(table, chosen);
    return time([&] {
      table.zero_grad();
      y.backward(g, {.retain_graph = true});
    });
  }
  if (name == "index_select_gradient") {
    const auto x = variable(randn<float>({1024, 1024}));
    const auto chosen = indices({4096}, 1024);
    const auto g = randn<float>({1024, 4096});
    const auto y = index_select(x, 1, chosen);
    return time([&] {
      x.zero_grad();
      y.backward(g, {.retain_graph = true});
    });
  }
  if (name == "scatter_add") {
    const auto x = randn<float>({100000}), source = randn<float>({1000000});
    const auto chosen = indices({1000000}, 100000);
    return time([&] { return scatter_add(x, 0, chosen, source); });
  }
  if (name == "scatter_add_rows") {
    const auto x = randn<float>({1024, 1024}), source = randn<float>({1024, 1024});
    const auto chosen = indices({1024, 1024}, 1024);
    return time([&] { return scatter_add(x, 1, chosen, source); });
  }
  if (name == "sort") {
    const auto x = randn<float>({1000000});
    return time([&] { return sort(x); });
  }
  if (name == "sort_rows") {
    const auto x = randn<float>({1024, 1024});
    return time([&] { return sort(x); });
  }
  if (name == "tril") {
    const auto x = randn<float>({4096, 4096});
    return time([&] { return tril(x); });
  }
  if (name == "cdist") {
    const auto x = randn<float>({2048, 64}), y = randn<float>({2048, 64});
    return time([&] { return cdist(x, y); });
  }
  std::cerr << "cpu_functions: no function called " << name << "\n";
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
