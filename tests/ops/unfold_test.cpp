// Runs on: host, cuda (windows), reference.
// Windows as views, and the sums of overlapping windows.

#include <locus/device/trace/launch_log.hpp>
#include <locus/locus.hpp>

#include <golden/golden.hpp>
#include <support/device_list.hpp>
#include <support/reference.hpp>

using namespace locus;
using namespace locus_test;

LOCUS_DEVICE_TEST("windows and columns, with their gradients, are PyTorch's", D) {
  const auto x = variable(golden::tensor<double, D>("unfold_x"));
  const auto check = [&](const char* name, const auto& y) {
    x.zero_grad();
    CHECK_GOLDEN(name, y, ({"x"}), x);
  };
  check("unfold_1d", unfold(x, 2, 3, 2));
  check("unfold_2d", x.unfold(2, 3, 1).unfold(3, 2, 3));
  check("im2col", im2col(x, {3, 2}, {1, 2}, {1, 0}, {2, 1}));
  const auto columns = variable(golden::tensor<double, D>("col2im_x"));
  CHECK_GOLDEN("col2im", col2im(columns, {7, 4}, 2, {2, 1}, 1, 2), ({"x"}), columns);
}

LOCUS_DEVICE_TEST("unfold is a view of every window", D) {
  const auto x = arange<float, D>(7);
  const auto windows = x.unfold(0, 3, 2);
  CHECK_CLOSE(windows, Reference({3, 3}, {0, 1, 2, 2, 3, 4, 4, 5, 6}));
  CHECK(windows.data() == x.data());
  CHECK_CLOSE(x.unfold(0, 3, 1, 3), Reference({1, 3}, {0, 3, 6}));
  CHECK_CLOSE(unfold(x * 2.f, -1, 2, 5), Reference({2, 2}, {0, 2, 10, 12}));
  CHECK_CLOSE((x * 2.f).unfold(-1, 7, 1), Reference({1, 7}, {0, 2, 4, 6, 8, 10, 12}));
  CHECK_CLOSE(mean(unfold(x, 0, 3, 1), -1), {1, 2, 3, 4, 5});
  CHECK_CLOSE(windows.reshape({9}), {0, 1, 2, 2, 3, 4, 4, 5, 6});
  CHECK_CLOSE(windows.template to<Cpu>() + 1.f, Reference({3, 3}, {1, 2, 3, 3, 4, 5, 5, 6, 7}));
  CHECK_CLOSE(windows.transpose().contiguous(), Reference({3, 3}, {0, 2, 4, 1, 3, 5, 2, 4, 6}));
  CHECK_CLOSE(x.reshape({7, 1}).expand({7, 2}).unfold(0, 6, 1).select(0, 1).select(0, 1), {1, 2, 3, 4, 5, 6});
}

LOCUS_DEVICE_TEST("fold_windows adds what overlaps, and leaves 0 where no window is", D) {
  const auto x = ones<float, D>({3, 2});
  CHECK_CLOSE(fold_windows(x, 0, 4, 1), {1, 2, 2, 1});
  CHECK_CLOSE(fold_windows(x, 0, 9, 3), {1, 1, 0, 1, 1, 0, 1, 1, 0});
  CHECK_CLOSE(fold_windows(x, 0, 6, 1, 3), {1, 1, 1, 1, 1, 1});
  CHECK_CLOSE(fold_windows(arange<float, D>(12).reshape({2, 3, 2}).permute({0, 2, 1}), 1, 5, 2),
              Reference({2, 5}, {0, 2, 5, 3, 5, 6, 8, 17, 9, 11}));
  if constexpr (all_dtypes<D>) CHECK_CLOSE(fold_windows(ones<half, D>({3, 2}), 0, 4, 1), {1, 2, 2, 1});
}

LOCUS_DEVICE_TEST("gradients of windows agree with finite differences, and are added to", D) {
  CHECK(gradcheck([](auto x) { return unfold(x, 1, 3, 2, 2); }, randn<double, D>({2, 8, 3})));
  CHECK(gradcheck([](auto x) { return fold_windows(x, 0, 9, 2, 3); }, randn<double, D>({3, 2, 2})));
  CHECK(gradcheck([](auto x) { return sum(unfold(x, 0, 2, 1)) + sum(x * x) + sum(unfold(x, 0, 3, 3)); },
                  randn<double, D>({7})));
  CHECK(gradcheck([](auto x) { return im2col(x, 2, 1, 1, 1); }, randn<double, D>({2, 3, 4})));
  CHECK(gradcheck([](auto x) { return col2im(x, {4, 3}, 2); }, randn<double, D>({4, 6})));
}

LOCUS_DEVICE_TEST("unfold launches nothing, fold_windows one map, and so backward", D) {
  const auto x = variable(randn<float, D>({5, 8}));
  const LaunchLog none;
  const auto y = unfold(x, 1, 3, 1);
  CHECK(none.launches() == 0);
  const auto g = ones<float, D>(y.shape());
  const LaunchLog backward;
  y.backward(g);
  CHECK(backward.launches() == 1);
  const LaunchLog one;
  const auto z = fold_windows(g, 1, 8, 1);
  CHECK(one.launches() == 1);
  CHECK_CLOSE(x.grad(), reference(z));
}

LOCUS_DEVICE_TEST("overlapping windows are not written to", D) {
  const auto x = arange<float, D>(6);
  CHECK_THROWS_AS(x.unfold(0, 3, 1).copy_(zeros<float, D>({4, 3})), ArgumentError);
  const auto interleaved = arange<float, D>(8).unfold(0, 3, 3, 2);  // 0 2 4, 3 5 7
  CHECK_THROWS_WITH_AS(interleaved += 1.f,
                       "operator+= on a view of shape (2, 3), expanded or unfolded, whose elements may share "
                       "memory; use .clone() first",
                       ArgumentError);
  CHECK_THROWS_AS(x.unfold(0, 3, 1) += 1.f, ArgumentError);
  x.unfold(0, 2, 2) += 1.f;
  x.unfold(0, 2, 3, 1).transpose() += 1.f;
  CHECK_CLOSE(x, {2, 3, 3, 5, 6, 6});
}

TEST_CASE("windows that do not fit are told") {
  const auto x = zeros<float>({2, 3});
  CHECK_THROWS_WITH_AS(
      (void)x.unfold(1, 4, 1),
      "unfold: windows of 4 elements, 1 apart, along an extent of 3; expected an extent that holds one", ShapeError);
  CHECK_THROWS_AS((void)x.unfold(1, 2, 1, 3), ShapeError);
  CHECK_THROWS_AS((void)x.unfold(1, INT64_MAX, 1, INT64_MAX), ShapeError);
  CHECK_THROWS_AS((void)x.unfold(1, 0, 1), ArgumentError);
  CHECK_THROWS_AS((void)x.unfold(1, 2, 0), ArgumentError);
  CHECK_THROWS_AS((void)x.unfold(1, 2, 1, 0), ArgumentError);
  CHECK_THROWS_AS((void)x.unfold(2, 1, 1), IndexError);
  CHECK_THROWS_AS((void)zeros<float>({1, 1, 1, 1, 1, 1, 1, 2}).unfold(7, 1, 1), ShapeError);
  CHECK_THROWS_WITH_AS((void)fold_windows(x, 0, 9, 1),
                       "fold_windows: 2 windows along dimension 0 of shape (2, 3) for an extent of 9; expected 7",
                       ShapeError);
  CHECK_THROWS_AS((void)fold_windows(zeros<float>({3}), 0, 3, 1), ShapeError);
  CHECK_THROWS_AS((void)im2col(x, 2), ShapeError);
  CHECK_THROWS_AS((void)im2col(zeros<float>({1, 3, 3}), 2, 1, -1), ArgumentError);
  CHECK_THROWS_WITH_AS(
      (void)im2col(zeros<float>({1, 3, 3}), 4),
      "unfold: windows of 4 elements, 1 apart, along an extent of 3; expected an extent that holds one", ShapeError);
  CHECK_THROWS_AS((void)im2col(zeros<float>({1, 3, 3}), 2, 1, INT64_MAX), ShapeError);
  CHECK_THROWS_WITH_AS(
      (void)col2im(zeros<float>({4, 9}), 4, 2, 1, INT64_MAX / 2),
      doctest::Contains("col2im: a size of (4, 4) padded by (4611686018427387903, 4611686018427387903)"), ShapeError);
  CHECK_THROWS_AS((void)col2im(zeros<float>({4, 9}), INT64_MAX, INT64_MAX / 2), ShapeError);
  CHECK_THROWS_AS((void)col2im(zeros<float>({4, 9}), INT64_MIN, 1, 1, INT64_MAX / 2), ShapeError);
  CHECK_THROWS_WITH_AS(
      (void)col2im(zeros<float>({5, 9}), 4, 2),
      "col2im: columns of shape (5, 9); expected a multiple of 4 rows and 9 columns for windows of (2, 2) "
      "in (4, 4) padded by (0, 0)",
      ShapeError);
}
