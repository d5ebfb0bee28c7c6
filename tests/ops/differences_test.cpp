// Runs on: host, reference.
// Differences, trapezoids, combinations, block matrices, renorm and windows against PyTorch.

#include <locus/autograd/parameter.hpp>
#include <locus/ops/combinations.hpp>
#include <locus/ops/differences.hpp>
#include <locus/ops/renorm.hpp>
#include <locus/ops/window_functions.hpp>
#include <locus/tensor/factory.hpp>

#include <golden/golden.hpp>
#include <support/device_list.hpp>
#include <support/reference.hpp>

#include <limits>

namespace differences {
using namespace locus;

LOCUS_DEVICE_TEST("differences, trapezoids and renorm, and their gradients, are PyTorch's", D) {
  const auto x = variable(golden::tensor<double, D>("differences_x")),
             at = variable(golden::tensor<double, D>("differences_at"));
  const auto check = [&](const char* name, const auto& y) {
    x.zero_grad();
    CHECK_GOLDEN(name, y, ({"x"}), x);
  };
  check("diff", diff(x, 1));
  check("diff_twice", diff(x, 1, 2));
  check("trapezoid", trapezoid(x, 1, 0.5));
  check("cumulative_trapezoid", cumulative_trapezoid(x, 1, 0.5));
  check("cumulative_trapezoid_at", cumulative_trapezoid(x, x * 2., 0));
  check("renorm", renorm(x, 3, 1, 1.5));
  x.zero_grad();
  CHECK_GOLDEN("trapezoid_at", trapezoid(transpose(x), at), ({"x", "at"}), x, at);

  const auto times = locus_test::tensor<std::int32_t, D>({4}, {1, 4, 9, 16});
  CHECK_CLOSE(diff(times), {3, 5, 7});
  CHECK_CLOSE(diff(times, 0, 0), {1, 4, 9, 16});
  CHECK(diff(times, 0, 9).shape() == Shape{0});
  CHECK_CLOSE(diff(locus_test::tensor<bool, D>({4}, {1, 1, 0, 1})), {0, 1, 1});
  CHECK_CLOSE(renorm(locus_test::tensor<float, D>({3}, {-4, 1, 2}), 2, 0, 2), {-2, 1, 2}, 1e-6);
  CHECK_THROWS_AS((void)diff(times, 0, -1), ArgumentError);
  CHECK_THROWS_AS((void)diff(times, 1), IndexError);
  CHECK_THROWS_WITH_AS((void)trapezoid(x, at, 0), doctest::Contains("expected (3), or the shape of y"), ShapeError);
  CHECK_THROWS_AS((void)renorm(x, 0, 0, 1), ArgumentError);
  CHECK_THROWS_AS((void)renorm(x, 2, 0, std::numeric_limits<double>::quiet_NaN()), ArgumentError);
}

LOCUS_DEVICE_TEST("combinations, tuples and block matrices, and their gradients, are PyTorch's", D) {
  const auto x = variable(golden::tensor<double, D>("differences_x")),
             y = variable(golden::tensor<double, D>("differences_y")),
             at = variable(golden::tensor<double, D>("differences_at"));
  CHECK_GOLDEN("combinations", combinations(y, 3), ({"y"}), y);
  y.zero_grad();
  CHECK_GOLDEN("combinations_repeated", combinations(y, 2, true), ({"y"}), y);
  y.zero_grad();
  CHECK_GOLDEN("cartesian_prod", cartesian_prod(y, at), ({"y", "at"}), y, at);
  y.zero_grad();
  CHECK_GOLDEN("block_diag", block_diag(std::vector{select(x, 0, 0), reshape(y, {4}), transpose(select(x, 0, 1))}),
               ({"x", "y"}), x, y);
  const auto whole = locus_test::tensor<std::int32_t, D>({2}, {5, 7});
  CHECK_CLOSE(combinations(whole, 1), {{2, 1}, {5, 7}});
  CHECK(combinations(whole, 3).shape() == Shape{0, 3});
  CHECK_CLOSE(combinations(whole, 3, true), {{4, 3}, {5, 5, 5, 5, 5, 7, 5, 7, 7, 7, 7, 7}});
  CHECK(combinations(Tensor<float, D>({0}), 2, true).shape() == Shape{0, 2});
  CHECK_THROWS_AS((void)combinations(x), ShapeError);
  CHECK_THROWS_AS((void)combinations(whole, -1), ArgumentError);
  CHECK_THROWS_AS((void)block_diag(std::vector{x}), ShapeError);
  CHECK_THROWS_AS((void)block_diag(std::vector<Tensor<float, D>>{}), ArgumentError);
}

LOCUS_DEVICE_TEST("windows are PyTorch's", D) {
  for (const bool periodic : {true, false}) {
    const std::string end = periodic ? "_window_true" : "_window_false";
    const auto check = [&](const std::string& name, const Tensor<double, D>& window) {
      CAPTURE(name);
      CHECK_CLOSE(window, golden::reference(name + end), 1e-11);
    };
    check("hann", hann_window<double, D>(9, {.periodic = periodic}));
    check("hamming", hamming_window<double, D>(9, {.periodic = periodic}));
    check("blackman", blackman_window<double, D>(9, {.periodic = periodic}));
    check("bartlett", bartlett_window<double, D>(9, {.periodic = periodic}));
    check("kaiser", kaiser_window<double, D>(9, {.periodic = periodic}));
  }
  CHECK_CLOSE(kaiser_window<double, D>(8, {.beta = 600}), golden::reference("kaiser_window_wide"), 1e-11);
  CHECK_CLOSE(hann_window<float, D>(1), {1});
  CHECK(hann_window<half, D>(0).shape() == Shape{0});
  CHECK_THROWS_AS((void)(bartlett_window<float, D>(-1)), ArgumentError);
  CHECK_THROWS_AS((void)(kaiser_window<float, D>(3, {.beta = -1})), ArgumentError);
}

}  // namespace differences
