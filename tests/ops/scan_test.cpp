// Runs on: host, cuda (operations), reference.
// Running sums against float64, PyTorch and finite differences, with their promised launches.

#include <locus/autograd/gradcheck.hpp>
#include <locus/ops/cumulative.hpp>
#include <locus/ops/join.hpp>
#include <locus/ops/reduce.hpp>
#include <locus/ops/scan.hpp>
#include <locus/tensor/factory.hpp>

#include <golden/golden.hpp>
#include <support/device_list.hpp>
#include <support/reference.hpp>

#include <algorithm>
#include <cmath>
#include <limits>

using namespace locus;
using locus_test::sample;

LOCUS_DEVICE_TEST("cumsum and its gradient agree with PyTorch", D) {
  const auto x = variable(golden::tensor<double, D>("reduce_x"));
  CHECK_GOLDEN("cumsum_1", cumsum(x, 1), ({"x"}), x);
}

LOCUS_DEVICE_TEST("running sums of every length, around every power of eight", D) {
  for (const std::int64_t n : {1, 2, 7, 8, 9, 63, 64, 65, 511, 512, 513, 5000}) {
    CAPTURE(n);
    const auto x = sample<std::int32_t, D>({n}, 1, -9, 9);
    auto expected = locus_test::reference(x);
    for (std::size_t i = 1; i < expected.values.size(); ++i) expected.values[i] += expected.values[i - 1];
    LaunchLog log;
    const auto y = cumsum(x, 0);
    if constexpr (AddsRunningSums<D>) CHECK(log.counts().rows == 1);
    else CHECK(log.counts().map <= 2 + (n > 8) + (n > 64) + (n > 512) + (n > 4096));
    CHECK_CLOSE(y, expected);
  }
}

LOCUS_DEVICE_TEST("running sums along any axis, of views, of bool", D) {
  const auto x = locus_test::tensor<float, D>({2, 3}, {1, 2, 3, 4, 5, 6});
  CHECK_CLOSE(cumsum(x, 0), {{2, 3}, {1, 2, 3, 5, 7, 9}});
  CHECK_CLOSE(cumsum(x, -1), {{2, 3}, {1, 3, 6, 4, 9, 15}});
  CHECK_CLOSE(cumsum(x.transpose(), 1), {{3, 2}, {1, 5, 2, 7, 3, 9}});
  CHECK_CLOSE(cumsum(x + 1.f, 0), {{2, 3}, {2, 3, 4, 7, 9, 11}});
  static_assert(std::is_same_v<decltype(cumsum(Tensor<bool, D>(), 0)), Tensor<std::int64_t, D>>);
  CHECK_CLOSE(cumsum(locus_test::tensor<bool, D>({4}, {1, 0, 1, 1}), 0), {1, 1, 2, 3});
  CHECK(cumsum(Tensor<float, D>({0, 3}), 0).shape() == Shape{0, 3});
  CHECK_THROWS_AS((void)cumsum(x, 2), IndexError);
}

LOCUS_DEVICE_TEST("gradients agree with finite differences", D) {
  const auto f = [](const auto& x) { return cumsum(x * x, 0) * cumsum(x, 1); };
  const auto found = gradcheck(f, sample<double, D>({3, 10}, 4));
  CHECK_MESSAGE(found, found.what());
}

LOCUS_DEVICE_TEST("running sums of large tensors, along every axis, from both ends", D) {
  for (const Shape& shape : {Shape{3, 70, 300}, Shape{2, 2000, 130}, Shape{41, 1025, 1}, Shape{1, 20000, 2},
                             Shape{50, 70, 7}, Shape{3, 0, 5}}) {
    CAPTURE(shape);
    const auto x = sample<std::int32_t, D>(shape, 5, -9, 9);
    const auto p = sample<float, D>(shape, 6);
    for (int axis = 0; axis < 3; ++axis) {
      CAPTURE(axis);
      std::int64_t inner = 1;
      for (int d = axis + 1; d < 3; ++d) inner *= shape[d];
      const auto step = static_cast<std::size_t>(inner), extent = static_cast<std::size_t>(shape[axis]);
      auto expected = locus_test::reference(x);
      for (std::size_t i = 0; i < expected.values.size(); ++i)
        if (i / step % extent > 0) expected.values[i] += expected.values[i - step];
      CHECK_CLOSE(cumsum(x, axis), expected);
      // The gradient of the sum of running sums: how many are left.
      auto left = locus_test::reference(p);
      for (std::size_t i = 0; i < left.values.size(); ++i)
        left.values[i] = static_cast<double>(extent - i / step % extent);
      const auto y = variable(p);
      sum(cumsum(y, axis)).backward();
      CHECK_CLOSE(y.grad(), left);
    }
  }
}

LOCUS_DEVICE_TEST("errors of running sums do not grow with their length; infinity stays", D) {
  const std::int64_t n = 300000;
  const auto x = rand<double, D>({n});
  const auto sums = locus_test::reference(cumsum(x, 0)), terms = locus_test::reference(x);
  long double sum = 0;
  double worst = 0;
  for (std::size_t i = 0; i < terms.values.size(); ++i) {
    sum += static_cast<long double>(terms.values[i]);
    worst = std::max(worst, static_cast<double>(std::abs((static_cast<long double>(sums.values[i]) - sum) / sum)));
  }
  CHECK(worst < 20 * std::numeric_limits<double>::epsilon());
  const float infinity = std::numeric_limits<float>::infinity();
  const Tensor<float, D> large =
      concat({full<float, D>({70}, 1.f), full<float, D>({70}, infinity), full<float, D>({70}, 1.f)}, 0);
  const auto found = locus_test::reference(cumsum(large, 0));
  for (std::size_t i = 0; i < 210; ++i)
    CHECK(found.values[i] == (i < 70 ? static_cast<double>(i + 1) : static_cast<double>(infinity)));
}

LOCUS_DEVICE_TEST("running products, extremes and logarithms, and their gradients, are PyTorch's", D) {
  const auto x = variable(golden::tensor<double, D>("scan_x")),
             zeros = variable(golden::tensor<double, D>("scan_zeros"));
  const auto check = [&](const char* name, const auto& y) {
    x.zero_grad();
    CHECK_GOLDEN(name, y, ({"x"}), x);
  };
  check("cumprod", cumprod(x, 1));
  check("logcumsumexp", logcumsumexp(x, 0));
  check("cummax", cummax(x, 1).values);
  check("cummin", cummin(x, -3).values);
  CHECK_CLOSE(cummax(x, 1).indices, golden::reference("cummax_indices"));
  CHECK_CLOSE(cummin(x, -3).indices, golden::reference("cummin_indices"));
  check("cumsum_reverse", cumsum(x, 1, {.reverse = true}));
  check("cumsum_exclusive", cumsum(x, 1, {.exclusive = true}));
  check("cumsum_exclusive_reverse", cumsum(x, 1, {.exclusive = true, .reverse = true}));
  CHECK_GOLDEN("cumprod_zeros", cumprod(zeros, 1), ({"x"}), zeros);
}

LOCUS_DEVICE_TEST("exclusive and reversed products and logarithms, and their gradients, are PyTorch's", D) {
  const auto x = variable(golden::tensor<double, D>("differences_x"));
  const auto check = [&](const char* name, const auto& y) {
    x.zero_grad();
    CHECK_GOLDEN(name, y, ({"x"}), x);
  };
  check("cumprod_reverse", cumprod(x, 1, {.reverse = true}));
  check("cumprod_exclusive", cumprod(x, 1, {.exclusive = true}));
  check("cumprod_exclusive_reverse", cumprod(x, 0, {.exclusive = true, .reverse = true}));
  check("logcumsumexp_reverse", logcumsumexp(x, 0, {.reverse = true}));
  const auto sums = logcumsumexp(x, 1, {.exclusive = true});
  CHECK(std::isinf(max(sums.select(1, 0)).item()));
  check("logcumsumexp_exclusive", sums.slice(1, 1));
}

LOCUS_DEVICE_TEST("scans of long rows, of integers, of nothing, and of what is not finite", D) {
  for (const std::int64_t n : {9, 600}) {
    const auto x = sample<float, D>({n, 18}, 1, 0.98, 1.02);
    auto product = locus_test::reference(x), largest = product, logarithm = product;
    for (std::size_t i = 18; i < product.values.size(); ++i) {
      product.values[i] *= product.values[i - 18];
      largest.values[i] = std::max(largest.values[i], largest.values[i - 18]);
      logarithm.values[i] = std::log(std::exp(logarithm.values[i]) + std::exp(logarithm.values[i - 18]));
    }
    CHECK_CLOSE(cumprod(x, 0), product, 2e-5);
    CHECK_CLOSE(cummax(x.transpose(), 1).values.transpose(), largest);
    CHECK_CLOSE(logcumsumexp(x, 0), logarithm, 4e-6);
  }
  static_assert(std::is_same_v<decltype(cumprod(Tensor<bool, D>(), 0)), Tensor<std::int64_t, D>>);
  const auto whole = locus_test::tensor<std::int32_t, D>({4}, {3, 1, 3, -2});
  CHECK_CLOSE(cumprod(whole, 0), {3, 3, 9, -18});
  CHECK_CLOSE(cummax(whole, 0).indices, {0, 0, 2, 2});
  CHECK_CLOSE(cummin(whole, 0).values, {3, 1, 1, -2});
  const auto odd = locus_test::tensor<float, D>({5}, {1, INFINITY, NAN, 2, NAN});
  CHECK_CLOSE(cummax(odd, 0).indices, {0, 1, 2, 2, 4});
  CHECK_CLOSE(logcumsumexp(locus_test::tensor<float, D>({4}, {-INFINITY, -INFINITY, 3, INFINITY}), 0),
              {-INFINITY, -INFINITY, 3, INFINITY});
  CHECK_CLOSE(logcumsumexp(locus_test::tensor<float, D>({2}, {800, 800}), 0), {800, 800 + std::log(2.)});
  CHECK_CLOSE(cumsum(whole, 0, {.exclusive = true}), {0, 3, 4, 7});
  const auto none = Tensor<float, D>({0, 3});
  CHECK(cumprod(none, 0).shape() == Shape{0, 3});
  CHECK(cummax(none, 1).values.shape() == Shape{0, 3});
  CHECK(cumsum(none, 0, {.exclusive = true}).shape() == Shape{0, 3});
  CHECK_THROWS_AS((void)cumprod(none, 2), IndexError);
  CHECK_THROWS_AS((void)cummin(none, -3), IndexError);
  const auto found =
      gradcheck([](const auto& v) { return cumprod(v, 0) + logcumsumexp(v * v, 1); }, sample<double, D>({3, 10}, 4));
  CHECK_MESSAGE(found, found.what());
}
