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
/// The results of f for x, w and b, and their gradients.
template <class D, class F>
std::vector<locus_test::Reference> results(const F& f, std::int64_t cols) {
  const auto x = variable(sample<float, D>({3, cols}, 1, 99, 101)), w = variable(sample<float, D>({cols}, 2)),
             b = variable(sample<float, D>({cols}, 3));
  const auto y = f(x, w, b);
  y.backward(sample<float, D>({3, cols}, 4));
  x.zero_grad();
  f(x, w, b).backward(sample<float, D>({3, cols}, 5));  // accumulates
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
    const auto expected = results<Cpu>(f, cols), found = results<Cuda>(f, cols);
    for (std::size_t i = 0; i < 4; ++i)
      locus_test::check_empty(locus_test::difference_of(found[i], expected[i], 2e-5), __FILE__, __LINE__);
  }
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
