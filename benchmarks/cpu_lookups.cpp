// Lookups and parts on the host, asked for by benchmarks/lookups.py line by line:
//
//   THREADS CLOCK CASE ROWS COLS INDICES  ->  milliseconds
//
// the fastest of some runs, by the wall's or the processor's clock.

#include "support/fastest.hpp"

#include <locus/locus.hpp>
#include <locus/ops/cumulative.hpp>
#include <locus/ops/order_statistics.hpp>
#include <locus/ops/sort.hpp>

#include <iostream>
#include <string>

using namespace locus;

namespace {

/// The time of a backward pass alone.
template <class Y, class X>
auto gradient(const Y& y, const X& x, const Tensor<float>& g) {
  return [=] {
    x.zero_grad();
    y.backward(g, {.retain_graph = true});
  };
}

template <class F>
double timed(clockid_t clock, const F& f) {
  constexpr double budget = 0.5;  // seconds of runs
  return bench::fastest(clock, budget, f);
}

double of_table(clockid_t clock, const std::string& name, std::int64_t rows, std::int64_t cols, std::int64_t count) {
  const Tensor list = randint(0, rows, {count});
  const Tensor index = randint(0, rows, {count, cols});
  const Tensor source = randn({count, cols});
  const auto table = variable(randn({rows, cols}));
  const Tensor x = table.value();
  if (name == "embedding_gradient") return timed(clock, gradient(embedding(table, list), table, source));
  if (name == "gather_gradient") return timed(clock, gradient(gather(table, 0, index), table, source));
  if (name == "index_add") return timed(clock, [&] { (void)index_add(x, 0, list, source); });
  if (name == "scatter_add") return timed(clock, [&] { (void)scatter_add(x, 0, index, source); });
  if (name == "index_copy") return timed(clock, [&] { (void)index_copy(x, 0, list, source); });
  const auto expanded = list.reshape({count, 1}).expand({count, cols});
  if (name == "scatter_add_list") return timed(clock, [&] { (void)scatter_add(x, 0, expanded, source); });
  const Tensor sorted = sort(x.flatten()).values;
  const Tensor values = source.flatten();
  return timed(clock, [&] { (void)searchsorted(sorted, values); });
}

double of_matrix(clockid_t clock, const std::string& name, const Shape& shape) {
  const Tensor x = randn(shape);
  if (name == "tril") return timed(clock, [&] { (void)tril(x); });
  if (name == "flip") return timed(clock, [&] { (void)flip(x, 1); });
  if (name == "roll") return timed(clock, [&] { (void)roll(x, {5, 7}, {0, 1}); });
  if (name == "cumprod") return timed(clock, [&] { (void)cumprod(x, 1); });
  if (name == "sort") return timed(clock, [&] { (void)sort(x, 1); });
  return timed(clock, [&] { (void)quantile(x, 0.75, 1); });
}

}  // namespace

int main() {
  int threads = 0;
  std::string clock_name, name;
  std::int64_t rows = 0, cols = 0, count = 0;
  while (std::cin >> threads >> clock_name >> name >> rows >> cols >> count) {
    cpu::set_max_threads(threads);
    const clockid_t clock = bench::clock_called(clock_name);
    std::cout << (count > 0 ? of_table(clock, name, rows, cols, count) : of_matrix(clock, name, {rows, cols}))
              << std::endl;
  }
}
