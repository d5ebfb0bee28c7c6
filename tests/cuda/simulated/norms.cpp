// layer_norm and rms_norm on simulated threads: warps and blocks of a row, and the reductions over rows, as Cpu does
// it.

#include <locus/autograd/expression.hpp>
#include <locus/cuda/backend.hpp>
#include <locus/ops/layer_norm.hpp>
#include <locus/ops/softmax.hpp>

#include <support/reference.hpp>

#include <cmath>

using namespace locus;
using locus_test::reference;
using locus_test::sample;

namespace {
/// The results of f for rows that are `gap` elements apart, w and b, and their gradients.
template <class D, class T = float, class F>
std::vector<locus_test::Reference> results(const F& f, std::int64_t rows, std::int64_t cols, std::int64_t gap = 0) {
  const double middle = std::is_same_v<T, float> ? 100 : 0;
  const auto x = variable(sample<T, D>({rows, cols + gap}, 1, middle - 1, middle + 1).slice(1, 0, cols));
  const auto w = variable(sample<T, D>({cols}, 2)), b = variable(sample<T, D>({cols}, 3));
  const auto y = f(x, w, b);
  y.backward(sample<T, D>({rows, cols}, 4));
  x.zero_grad();
  f(x, w, b).backward(sample<T, D>({rows, cols}, 5));  // accumulates
  return {reference(y), reference(x.grad()), reference(w.grad()), reference(b.grad())};
}

/// The gradients of x, w and b where a selection leaves out the second row of f, whose numbers are `left_out`.
template <class D, class F>
std::vector<locus_test::Reference> selected(const F& f, std::int64_t cols, float left_out) {
  const auto rows = sample<float, D>({3, cols}, 1);
  rows.select(0, 1).fill_(left_out);
  const auto x = variable(rows), w = variable(sample<float, D>({cols}, 2)), b = variable(sample<float, D>({cols}, 3));
  const auto keep = locus_test::tensor<float, D>({3, 1}, {1, 0, 1});
  where(keep > 0, f(x, w, b), 0).backward(sample<float, D>({3, cols}, 4));
  return {reference(x.grad()), reference(w.grad()), reference(b.grad())};
}
}  // namespace

TEST_CASE("normalized rows and their gradients are those of Cpu") {
  const auto f = [](const auto& x, const auto& w, const auto& b) {
    return rms_norm(layer_norm(x, {x.size(1)}, w, b), {x.size(1)}, w);
  };
  for (const std::int64_t cols : {7, 33, 257}) {
    CAPTURE(cols);
    const auto expected = results<Cpu>(f, 3, cols), found = results<Cuda>(f, 3, cols);
    for (std::size_t i = 0; i < 4; ++i)
      locus_test::check_empty(locus_test::difference_of(found[i], expected[i], 2e-5), __FILE__, __LINE__);
  }
}

TEST_CASE("weights and biases that are read in runs, or are not aligned as the rows are, or absent") {
  const auto check = [](auto element, std::int64_t rows, std::int64_t cols, std::int64_t gap, double allowed) {
    using T = decltype(element);
    CAPTURE(cols);
    const auto results = [&]<class D>(D) {
      const auto x = sample<T, D>({rows, cols + gap}, 1).slice(1, 0, cols);
      const auto w = sample<T, D>({cols + 1}, 2), b = sample<T, D>({2 * cols}, 3);
      const auto begin = w.slice(0, 0, cols), end = w.slice(0, 1, cols + 1);
      return std::vector{reference(layer_norm(x, {cols}, begin, b.slice(0, 0, cols))),
                         reference(layer_norm(x, {cols}, end, begin)),
                         reference(layer_norm(x, {cols}, begin, b.slice(0, 0, 2 * cols, 2))),
                         reference(layer_norm(x, {cols})),
                         reference(rms_norm(x, {cols}, begin)),
                         reference(rms_norm(x, {cols}, end))};
    };
    const auto expected = results(Cpu{}), found = results(Cuda{});
    for (std::size_t i = 0; i < found.size(); ++i)
      locus_test::check_empty(locus_test::difference_of(found[i], expected[i], allowed), __FILE__, __LINE__);
  };
  for (const auto& [rows, cols, gap] : {std::array<std::int64_t, 3>{5, 20, 0},
                                        {5, 36, 1},
                                        {3, 260, 0},
                                        {40, 1000, 0},
                                        {40, 1001, 0},
                                        {2, 8200, 0},
                                        {2, 8201, 1}}) {
    check(float{}, rows, cols, gap, 2e-5);
    check(bfloat16{}, rows, cols, gap, 2e-2);
  }
  check(double{}, 40, 1000, 0, 1e-12);
}

TEST_CASE("gradients of many rows, which are read once, are those of Cpu") {
  const auto f = [](const auto& x, const auto& w, const auto& b) { return layer_norm(x, {x.size(1)}, w, b); };
  const auto rms = [](const auto& x, const auto& w, const auto&) { return rms_norm(x, {x.size(1)}, w); };
  const auto check = [](const auto& found, const auto& expected, double allowed) {
    for (std::size_t i = 0; i < found.size(); ++i)
      locus_test::check_empty(locus_test::difference_of(found[i], expected[i], allowed), __FILE__, __LINE__);
  };
  for (const auto& [rows, cols, gap] : {std::array<std::int64_t, 3>{100, 32, 0},
                                        {101, 33, 0},
                                        {170, 256, 4},
                                        {100, 257, 3},
                                        {90, 1000, 0},
                                        {80, 4100, 0},
                                        {90, 31, 0}}) {
    const std::int64_t columns = cols;
    CAPTURE(columns);
    check(results<Cuda>(f, rows, cols, gap), results<Cpu>(f, rows, cols, gap), 5e-5);
  }
  check(results<Cuda, double>(f, 100, 264), results<Cpu, double>(f, 100, 264), 1e-12);
  check(results<Cuda, half>(f, 170, 264), results<Cpu, half>(f, 170, 264), 4e-3);
  check(results<Cuda, bfloat16>(f, 170, 72, 1), results<Cpu, bfloat16>(f, 170, 72, 1), 3e-2);
  const auto of_gpu = [&] {
    const auto x = variable(sample<float, Cuda>({100, 40}, 1)), w = variable(sample<float, Cuda>({40}, 2));
    rms(x, w, w).backward(sample<float, Cuda>({100, 40}, 3));
    return std::vector{reference(x.grad()), reference(w.grad())};
  };
  const auto first = of_gpu(), second = of_gpu();
  for (std::size_t i = 0; i < 2; ++i) CHECK(first[i].values == second[i].values);
  const auto x = variable(sample<float, Cpu>({100, 40}, 1)), w = variable(sample<float, Cpu>({40}, 2));
  rms(x, w, w).backward(sample<float, Cpu>({100, 40}, 3));
  check(first, std::vector{reference(x.grad()), reference(w.grad())}, 2e-5);
}

TEST_CASE("rows that a selection leaves out have no gradient, whatever they hold") {
  const auto f = [](const auto& x, const auto& w, const auto& b) {
    return softmax(layer_norm(x, {x.size(1)}, w, b) + softmax(x, 1), 1);
  };
  for (const std::int64_t cols : {7, 257}) {
    CAPTURE(cols);
    const auto expected = selected<Cpu>(f, cols, 1);
    for (std::int64_t c = 0; c < cols; ++c) CHECK(expected[0].values[static_cast<std::size_t>(cols + c)] == 0);
    for (const float left_out : {-INFINITY, NAN}) {
      const auto found = selected<Cuda>(f, cols, left_out);
      for (std::size_t i = 0; i < 3; ++i)
        locus_test::check_empty(locus_test::difference_of(found[i], expected[i], 2e-5), __FILE__, __LINE__);
    }
  }
}
