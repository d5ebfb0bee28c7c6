// Runs on: host, cuda (windows), reference.
// Pooling: values and gradients as PyTorch's; NaN, ties, borders, and refusals.

#include <locus/device/trace/launch_log.hpp>
#include <locus/locus.hpp>

#include <golden/golden.hpp>
#include <support/device_list.hpp>
#include <support/reference.hpp>

#include <cmath>
#include <limits>

using namespace locus;
using namespace locus_test;

namespace {
const float infinity = std::numeric_limits<float>::infinity(), no_number = std::numeric_limits<float>::quiet_NaN();
}

LOCUS_DEVICE_TEST("pooling and its gradient are PyTorch's, for every option", D) {
  const auto x = variable(golden::tensor<double, D>("pool_x")), line = variable(golden::tensor<double, D>("pool_line"));
  const auto check = [](const char* name, const auto& y, const auto& input) {
    INFO(std::string(name));
    input.zero_grad();
    CHECK_GOLDEN(name, y, ({"x"}), input);
  };
  check("max_plain", max_pool2d(x, 2), x);
  check("max_overlap", max_pool2d(x, 3, 1), x);
  check("max_strided", max_pool2d(x, {3, 2}, {2, 3}), x);
  check("max_padded", max_pool2d(x, 3, 2, 1), x);
  check("max_ceil", max_pool2d(x, 3, 2, 0, {.ceil_mode = true}), x);
  check("max_ceil_padded", max_pool2d(x, 2, 3, 1, {.ceil_mode = true}), x);
  check("max_dilated", max_pool2d(x, {3, 2}, 1, 1, {.dilation = {2, 3}}), x);
  check("avg_plain", avg_pool2d(x, 2), x);
  check("avg_strided", avg_pool2d(x, {3, 2}, {2, 3}), x);
  check("avg_padded", avg_pool2d(x, 3, 2, 1), x);
  check("avg_excluded", avg_pool2d(x, 3, 2, 1, {.count_include_pad = false}), x);
  check("avg_ceil", avg_pool2d(x, 3, 2, 1, {.ceil_mode = true}), x);
  check("avg_ceil_excluded", avg_pool2d(x, 3, 2, 1, {.ceil_mode = true, .count_include_pad = false}), x);
  check("avg_divisor", avg_pool2d(x, 3, 2, 1, {.divisor_override = 5}), x);
  check("adaptive_1_1", adaptive_avg_pool2d(x, 1), x);
  check("adaptive_3_5", adaptive_avg_pool2d(x, {3, 5}), x);
  check("adaptive_7_8", adaptive_avg_pool2d(x, {7, 8}), x);
  check("adaptive_9_3", adaptive_avg_pool2d(x, {9, 3}), x);
  check("max_1d", max_pool1d(line, 3, 2, 1), line);
  check("max_1d_dilated", max_pool1d(line, 3, 2, 0, {.dilation = 2, .ceil_mode = true}), line);
  check("avg_1d", avg_pool1d(line, 4, 3, 2), line);
  check("avg_1d_excluded", avg_pool1d(line, 4, 3, 2, {.ceil_mode = true, .count_include_pad = false}), line);
}

LOCUS_DEVICE_TEST("dropout of nothing and of all is PyTorch's", D) {
  const auto x = variable(golden::tensor<double, D>("dropout_x"));
  CHECK_GOLDEN("dropout_none", dropout(x, 0), ({"x"}), x);
  x.zero_grad();
  CHECK_GOLDEN("dropout_all", dropout(x, 1), ({"x"}), x);
}

LOCUS_DEVICE_TEST("NaN passes through, infinities are numbers, and ties go to the first", D) {
  const auto x = variable(tensor<float, D>({1, 1, 8}, {1, no_number, no_number, 3, -infinity, -infinity, 5, 5}));
  const auto y = max_pool1d(x, 2);
  const auto values = reference(y).values;
  CHECK(std::isnan(values[0]));
  CHECK(std::isnan(values[1]));
  CHECK(values[2] == -infinity);
  CHECK(values[3] == 5);
  y.backward(tensor<float, D>({1, 1, 4}, {1, 2, 3, 4}));
  CHECK_CLOSE(x.grad(), Reference({1, 1, 8}, {0, 1, 2, 0, 3, 0, 4, 0}));
  const auto flat = variable(zeros<float, D>({1, 3, 3}));
  sum(max_pool2d(flat, 2, 1)).backward();
  CHECK_CLOSE(flat.grad(), Reference({1, 3, 3}, {1, 1, 0, 1, 1, 0, 0, 0, 0}));
  const auto two = variable(tensor<float, D>({1, 1, 3}, {no_number, 1, no_number}));
  const auto most = max_pool1d(two, 3);
  CHECK(std::isnan(reference(most).values[0]));
  sum(most).backward();
  CHECK_CLOSE(two.grad(), Reference({1, 1, 3}, {1, 0, 0}));
  // The border is -infinity, not 0.
  CHECK_CLOSE(max_pool1d(full<float, D>({1, 1, 3}, -2), 3, 1, 1), Reference({1, 1, 3}, {-2, -2, -2}));
  // Windows of the border alone have no element.
  CHECK(reference(max_pool1d(ones<float, D>({1, 1, 1}), 2, 1, 2, {.dilation = 3})).values[0] == -infinity);
}

LOCUS_DEVICE_TEST("views, and inputs without a batch, are pooled as they lie", D) {
  const auto x = randn<float, D>({2, 6, 5, 3});
  const auto check = [](const auto& view) {
    const auto traced = variable(view), dense = variable(view.contiguous());
    const auto both = [&](const auto& pool) {
      CHECK_CLOSE(pool(traced), reference(pool(dense)));
      traced.zero_grad(), dense.zero_grad();
      sum(pool(traced)).backward(), sum(pool(dense)).backward();
      CHECK_CLOSE(traced.grad(), reference(dense.grad()));
    };
    both([](const auto& image) { return max_pool2d(image, 2, 1, 1); });
    both([](const auto& image) { return avg_pool2d(image, 2, 1, 1); });
    both([](const auto& image) { return adaptive_avg_pool2d(image, 2); });
  };
  check(x.permute({0, 3, 1, 2}));
  check(x.transpose(0, 1).slice(2, 0, 5, 2));
  CHECK_CLOSE(max_pool2d(x.select(0, 1), 2), reference(max_pool2d(x, 2).select(0, 1)));
  CHECK_CLOSE(avg_pool1d(x.select(0, 1).select(0, 2), 3), reference(avg_pool1d(x.select(0, 1), 3).select(0, 2)));
  CHECK_CLOSE(adaptive_avg_pool2d(x.select(0, 1), 1), reference(mean(x.select(0, 1), {1, 2}, true)));
  CHECK_CLOSE(max_pool2d(x * 2.f, 2), reference(max_pool2d(x, 2) * 2.f));
  CHECK(max_pool2d(Tensor<float, D>(Shape{0, 2, 4, 4}), 2).shape() == Shape{0, 2, 2, 2});
  const auto empty = variable(Tensor<float, D>(Shape{0, 2, 4, 4}));
  sum(avg_pool2d(empty, 2)).backward();
  CHECK(empty.grad().shape() == Shape{0, 2, 4, 4});
}

LOCUS_DEVICE_TEST("pooling's gradient agrees with finite differences, and is added to", D) {
  const auto image = randn<double, D>({2, 2, 5, 4});
  CHECK(gradcheck([](auto x) { return max_pool2d(x, {3, 2}, 1, 1); }, image));
  CHECK(gradcheck([](auto x) { return max_pool2d(x, 2, {1, 2}, {1, 0}, {.dilation = 2}); }, image));
  CHECK(gradcheck([](auto x) { return avg_pool2d(x, {2, 3}, 2, 1, {.ceil_mode = true}); }, image));
  CHECK(gradcheck([](auto x) { return adaptive_avg_pool2d(x, {3, 3}); }, image));
  CHECK(gradcheck([](auto x) { return sum(max_pool2d(x, 2) * 2.0) + sum(avg_pool2d(x, 3, 1) * 3.0) + sum(x * x); },
                  image));
  CHECK(gradcheck([](auto x) { return max_pool1d(avg_pool1d(x, 3, 1), 2); }, randn<double, D>({2, 9})));
}

LOCUS_DEVICE_TEST("every floating-point type is pooled", D) {
  const auto check = [](auto zero) {
    using T = decltype(zero);
    const auto x = variable(arange<float, D>(32).reshape({1, 2, 4, 4}).template as<T>());
    CHECK_CLOSE(max_pool2d(x, 2), Reference({1, 2, 2, 2}, {5, 7, 13, 15, 21, 23, 29, 31}));
    sum(max_pool2d(x, 3, 1)).backward();
    sum(avg_pool2d(x, 2) * T(4.f)).backward();
    CHECK_CLOSE(x.grad().select(1, 1), Reference({1, 4, 4}, {1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 2, 2, 1, 1, 2, 2}));
  };
  check(double{});
  if constexpr (all_dtypes<D>) check(half{}), check(bfloat16{});
}

LOCUS_DEVICE_TEST(
    "gradients of many windows beside each other, at any step, border and dilation, are those of a plain loop", D) {
  const std::int64_t width = 150;
  const auto numbers = randint<std::int64_t, D>(0, 5, {2, width}).template as<float>();  // ties
  const auto values = reference(numbers).values;
  const auto check = [&](const auto& given, std::int64_t kernel, std::int64_t step, std::int64_t border,
                         std::int64_t dilation) {
    INFO("kernel ", kernel, ", step ", step, ", border ", border, ", dilation ", dilation);
    const auto x = variable(given);
    const auto y = max_pool1d(x, kernel, step, border, {.dilation = dilation});
    const std::int64_t windows = y.size(1);
    y.backward(arange<float, D>(2 * windows).reshape({2, windows}));
    std::vector<double> expected(static_cast<std::size_t>(2 * width));
    for (std::int64_t plane = 0; plane < 2; ++plane) {
      for (std::int64_t o = 0; o < windows; ++o) {
        std::int64_t first = -1;
        for (std::int64_t at = o * step - border, k = 0; k < kernel; ++k, at += dilation) {
          const auto value = [&](std::int64_t i) { return values[static_cast<std::size_t>(plane * width + i)]; };
          if (at >= 0 && at < width && (first < 0 || value(at) > value(first))) first = at;
        }
        if (first >= 0)
          expected[static_cast<std::size_t>(plane * width + first)] += static_cast<double>(plane * windows + o);
      }
    }
    CHECK_CLOSE(x.grad(), Reference({2, width}, expected));
  };
  for (const std::int64_t step : {1, 2, 3}) {
    check(numbers, 2, step, 0, 1);
    check(numbers, 3, step, 1, 1);
    check(numbers, 4, step, 2, 5);
    check(numbers.transpose().contiguous().transpose(), 3, step, 1, 2);
  }
  check(numbers, 149, 1, 74, 1);
}

LOCUS_DEVICE_TEST("gradients of 16 bits that overlap are added up in float", D) {
  if constexpr (all_dtypes<D>) {
    auto peak = zeros<float, D>({1, 9});
    peak.slice(1, 4, 5).fill_(1.f);
    const auto g = tensor<float, D>({1, 5}, {256, 1, 1, 1, 1});  // 257 is none of bfloat16
    const auto x = variable(peak.template as<bfloat16>());
    max_pool1d(x, 5, 1).backward(g.template as<bfloat16>());
    CHECK(reference(x.grad()).values[4] == 260);
    x.zero_grad();
    avg_pool1d(x, 5, 1, 0, {.divisor_override = 1}).backward(g.template as<bfloat16>());
    CHECK(reference(x.grad()).values[4] == 260);
    x.zero_grad();
    (max_pool1d(x, 5, 1).eval() + avg_pool1d(x, 5, 1, 0, {.divisor_override = 1})).backward(g.template as<bfloat16>());
    CHECK(reference(x.grad()).values[4] == 520);
  }
}

LOCUS_DEVICE_TEST("pooling is one launch, and so is its backward pass, which stores nothing new", D) {
  const auto x = variable(randn<float, D>({3, 2, 8, 8}));
  const auto check = [&](const auto& pool) {
    x.zero_grad();
    const LaunchLog forward;
    const auto y = pool(x);
    CHECK(forward.launches() == 1);
    const auto g = ones<float, D>(y.shape());
    const LaunchLog backward;
    y.backward(g, {.retain_graph = true});
    CHECK(backward.launches() == 1);
    const LaunchLog added;
    y.backward(g);
    CHECK(added.launches() == 1);
  };
  check([](const auto& a) { return max_pool2d(a, 3, 2, 1); });
  check([](const auto& a) { return avg_pool2d(a, 3, 2, 1); });
  check([](const auto& a) { return adaptive_avg_pool2d(a, 3); });
  if constexpr (std::is_same_v<D, Counting>) {
    const auto start = counting_bytes.load();
    const auto y = max_pool2d(x, 2);
    CHECK(counting_bytes - start == 3 * 2 * 4 * 4 * 4);
  }
}

TEST_CASE("what cannot be pooled is told") {
  const auto x = zeros<float>({1, 3, 4});
  CHECK_THROWS_WITH_AS(
      (void)max_pool2d(x, 5),
      "max_pool2d: a kernel of (5, 5) dilated by (1, 1) for an input of shape (1, 3, 4) padded by (0, 0); "
      "expected a kernel no larger than the padded input",
      ShapeError);
  CHECK_THROWS_WITH_AS((void)avg_pool1d(x, 9, 1, 2),
                       "avg_pool1d: a kernel of 9 dilated by 1 for an input of shape (1, 3, 4) padded by 2; expected a "
                       "kernel no larger than the padded input",
                       ShapeError);
  CHECK_THROWS_WITH_AS(
      (void)max_pool2d(x, 2, 1, {0, 2}),
      "max_pool2d: padding of (0, 2) for a kernel of (2, 2) dilated by (1, 1); expected at most half of it",
      ArgumentError);
  CHECK_THROWS_AS((void)max_pool2d(x, 2, 1, -1), ArgumentError);
  CHECK_THROWS_WITH_AS(
      (void)avg_pool2d(x, {2, 0}),
      "avg_pool2d: a kernel of (2, 0), a stride of (2, 0) and a dilation of (1, 1); expected 1 or more of "
      "each",
      ArgumentError);
  CHECK_THROWS_AS((void)max_pool1d(x, 2, 0), ArgumentError);
  CHECK_THROWS_AS((void)max_pool2d(x, 2, 1, 0, {.dilation = 0}), ArgumentError);
  CHECK_THROWS_AS((void)max_pool2d(x, INT64_MAX, 1, 0, {.dilation = INT64_MAX}), ShapeError);
  CHECK_THROWS_AS((void)max_pool2d(x, 2, 1, 1, {.dilation = INT64_MAX, .ceil_mode = true}), ShapeError);
  CHECK_THROWS_WITH_AS((void)max_pool2d(zeros<float>({3, 4}), 2),
                       "max_pool2d: an input of shape (3, 4); expected (batch, channels, height, width), or the same "
                       "without the batch, with elements to pool",
                       ShapeError);
  CHECK_THROWS_AS((void)max_pool1d(zeros<float>({3, 0}), 1), ShapeError);
  CHECK_THROWS_AS((void)adaptive_avg_pool2d(zeros<float>({2, 0, 3}), 1), ShapeError);
  CHECK_THROWS_WITH_AS((void)adaptive_avg_pool2d(x, {0, 3}),
                       "adaptive_avg_pool2d: a size of (0, 3); expected 1 or more of each", ArgumentError);
  const auto long_line = zeros<float>({1, 1, 1}).expand({1, 1, std::int64_t{1} << 30});
  CHECK_THROWS_WITH_AS(
      (void)max_pool1d(long_line, 2),
      "max_pool1d: 1073741824 elements along a dimension of shape (1, 1, 1073741824), its border included; "
      "expected at most 536870912",
      ShapeError);
  CHECK_THROWS_AS((void)adaptive_avg_pool2d(x, {std::int64_t{1} << 30, 1}), ShapeError);
  CHECK(max_pool2d(x, 2, INT64_MAX, 1, {.ceil_mode = true}).shape() == Shape{1, 1, 1});
}
