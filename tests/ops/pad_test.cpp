// Runs on: host, cuda (windows), reference.
// Padding: the content of the border, its gradient, and refusals.

#include <locus/device/trace/launch_log.hpp>
#include <locus/locus.hpp>

#include <golden/golden.hpp>
#include <support/device_list.hpp>
#include <support/reference.hpp>

#include <limits>

using namespace locus;
using namespace locus_test;

namespace {
constexpr PadMode modes[] = {PadMode::constant, PadMode::reflect, PadMode::replicate, PadMode::circular};
}

LOCUS_DEVICE_TEST("padding and its gradient are PyTorch's", D) {
  const auto x = variable(golden::tensor<double, D>("pad_x"));
  const auto check = [&](const char* name, const auto& y) {
    x.zero_grad();
    CHECK_GOLDEN(name, y, ({"x"}), x);
  };
  check("pad_constant", pad(x, {1, 2, 0, 3}, PadMode::constant, 1.5));
  check("pad_crop", pad(x, {-1, 2, 1, -2}));
  check("pad_reflect", pad(x, {2, 3, 1, 2}, PadMode::reflect));
  check("pad_replicate", pad(x, {2, 3, 1, 2}, PadMode::replicate));
  check("pad_circular", pad(x, {2, 3, 1, 2}, PadMode::circular));
  check("pad_reflect_1d", pad(x, {3, 0}, PadMode::reflect));
  check("pad_replicate_1d", pad(x, {3, 0}, PadMode::replicate));
  check("pad_circular_1d", pad(x, {3, 0}, PadMode::circular));
  check("pad_reflect_crop", pad(x, {-2, 1, 1, -1}, PadMode::reflect));
  check("pad_replicate_crop", pad(x, {-2, 1, 1, -1}, PadMode::replicate));
  check("pad_circular_crop", pad(x, {-2, 1, 1, -1}, PadMode::circular));
  check("pad_circular_crop_right", pad(x, {2, -1, 0, 0}, PadMode::circular));
}

LOCUS_DEVICE_TEST("padding means what the pictures say", D) {
  const auto x = tensor<float, D>({3}, {1, 2, 3});
  CHECK_CLOSE(pad(x, {1, 2}), {0, 1, 2, 3, 0, 0});
  CHECK_CLOSE(pad(x, {2, 2}, PadMode::reflect), {3, 2, 1, 2, 3, 2, 1});
  CHECK_CLOSE(pad(x, {2, 2}, PadMode::replicate), {1, 1, 1, 2, 3, 3, 3});
  CHECK_CLOSE(pad(x, {2, 3}, PadMode::circular), {2, 3, 1, 2, 3, 1, 2, 3});
  CHECK_CLOSE(pad(x, {-1, 1}, PadMode::reflect), {2, 3, 2});
  CHECK_CLOSE(pad(x, {-2, 1}, PadMode::circular), {3, 3});
  CHECK_CLOSE(pad(x, {1, -1}, PadMode::circular), {2, 1, 2});
  CHECK_CLOSE(pad(x, {-1, 1}, PadMode::circular), {2, 3, 2});
  CHECK_CLOSE(pad(x, {2, -1}, PadMode::circular), {1, 2, 1, 2});
  CHECK_CLOSE(pad(x, {-1, -1}, PadMode::circular), {2});
  CHECK(pad(x, {-3, 0}, PadMode::circular).shape() == Shape{0});
  CHECK_CLOSE(pad(x, {-3, 2}), {0, 0});
  CHECK(pad(x, {-3, 0}).shape() == Shape{0});
  CHECK_CLOSE(pad(x, {}), {1, 2, 3});
  CHECK_CLOSE(pad(x * 2.f, {1, 0}, PadMode::constant, -1), {-1, 2, 4, 6});
  const float infinity = std::numeric_limits<float>::infinity();
  CHECK(reference(pad(x, {1, 0}, PadMode::constant, -infinity)).values[0] == -infinity);
  CHECK_CLOSE(pad(Tensor<float, D>(Shape{0, 2}), {0, 0, 1, 1}, PadMode::constant, 4), Reference({2, 2}, {4, 4, 4, 4}));
  CHECK(pad(zeros<float, D>({}), {}).shape() == Shape{});
}

LOCUS_DEVICE_TEST("views, many dimensions and every element type are padded", D) {
  const auto x = arange<float, D>(24).reshape({2, 3, 4});
  for (const PadMode mode : modes) {
    CHECK_CLOSE(pad(x.permute({2, 0, 1}), {1, 1, 1, 0, 2, 1}, mode),
                reference(pad(x.permute({2, 0, 1}).contiguous(), {1, 1, 1, 0, 2, 1}, mode)));
    CHECK_CLOSE(pad(x, {1, 2, 1, 1, 1, 1}, mode),
                reference(pad(pad(pad(x, {1, 2}, mode), {0, 0, 1, 1}, mode), {0, 0, 0, 0, 1, 1}, mode)));
  }
  const auto as_padded = [&](auto zero) {
    using T = decltype(zero);
    const auto y = x.slice(0, 0, 1).template as<T>();
    for (const PadMode mode : modes)
      CHECK_CLOSE(pad(y, {1, 1}, mode), reference(pad(y.template as<float>(), {1, 1}, mode)));
  };
  as_padded(double{}), as_padded(std::int64_t{});
  if constexpr (all_dtypes<D>)
    as_padded(std::int32_t{}), as_padded(std::uint8_t{}), as_padded(half{}), as_padded(bfloat16{});
  CHECK_CLOSE(pad(x.slice(0, 0, 1) > 2.f, {1, 0}, PadMode::constant, true).slice(2, 0, 1),
              Reference({1, 3, 1}, {1, 1, 1}));
  CHECK_CLOSE(pad(arange<std::int64_t, D>(2), {1, 1}, PadMode::constant, -7), {-7, 0, 1, -7});
}

LOCUS_DEVICE_TEST("padding's gradient agrees with finite differences, and is added to", D) {
  for (const PadMode mode : modes) {
    CHECK(gradcheck([=](auto x) { return pad(x, {2, 1, 1, 2}, mode); }, randn<double, D>({2, 3, 3})));
    CHECK(gradcheck([=](auto x) { return pad(x, {-1, 2, 0, 0, 1, 1}, mode); }, randn<double, D>({2, 3, 3})));
    CHECK(gradcheck([=](auto x) { return pad(x, {-1, -1, 1, -1}, mode); }, randn<double, D>({2, 3, 3})));
    const auto twice = [=](auto x) { return sum(pad(x, {1, 1}, mode) * 2.0) + sum(pad(x, {0, 2}, mode)); };
    CHECK(gradcheck(twice, randn<double, D>({2, 3})));
  }
}

LOCUS_DEVICE_TEST("padding is one launch, and a constant border has none in the backward pass", D) {
  const auto x = variable(randn<float, D>({2, 3, 4}));
  const auto launches = [&](PadMode mode) {
    x.zero_grad();
    const LaunchLog forward;
    const auto y = pad(x, {1, 1, 2, 1}, mode);
    CHECK(forward.launches() == 1);
    const auto g = ones<float, D>(y.shape());
    const LaunchLog backward;
    y.backward(g);
    return backward.launches();
  };
  CHECK(launches(PadMode::constant) <= 1);  // the leaf keeps a dense copy of the view
  CHECK(launches(PadMode::reflect) == 2);
}

TEST_CASE("amounts are a list that is made at run time, too") {
  const auto x = arange<float>(6).reshape({2, 3});
  const auto around = [](int rank, auto amount) { return std::vector(static_cast<std::size_t>(2 * rank), amount); };
  CHECK(allclose(pad(x, around(2, 1)), pad(x, {1, 1, 1, 1})));
  CHECK(allclose(pad(x, around(1, std::int64_t{1}), PadMode::reflect), pad(x, {1, 1}, PadMode::reflect)));
  CHECK(pad(x, std::vector<int>{}).shape() == x.shape());
  const std::array<short, 2> crop{-1, 0};
  CHECK_CLOSE(pad(x, crop).flatten(), {1, 2, 4, 5});
  const auto traced = variable(x);
  sum(pad(traced, around(2, 2))).backward();
  CHECK_CLOSE(traced.grad().flatten(), {1, 1, 1, 1, 1, 1});
  CHECK_THROWS_WITH_AS((void)pad(x, std::vector{1, 2, 3}),
                       "pad: 3 amounts; expected two for each dimension, the last one first", ArgumentError);
  CHECK_THROWS_AS((void)pad(x, around(9, 1)), ArgumentError);
  CHECK_THROWS_AS((void)pad(x, std::vector<std::uint64_t>{0, UINT64_MAX}), ArgumentError);
}

TEST_CASE("what cannot be padded is told") {
  const auto x = zeros<float>({2, 3});
  CHECK_THROWS_WITH_AS((void)pad(x, {1, 2, 3}), "pad: 3 amounts; expected two for each dimension, the last one first",
                       ArgumentError);
  CHECK_THROWS_WITH_AS((void)pad(x, {0, 0, 0, 0, 1, 1}),
                       "pad: amounts for 3 dimensions of shape (2, 3); expected at most 2", ShapeError);
  CHECK_THROWS_WITH_AS(
      (void)pad(x, {3, 0}, PadMode::reflect),
      "pad: 3 before and 0 after dimension 1 of shape (2, 3); expected less than the extent, to reflect", ShapeError);
  CHECK_THROWS_AS((void)pad(x, {0, 4}, PadMode::circular), ShapeError);
  CHECK_NOTHROW((void)pad(x, {0, 3}, PadMode::circular));
  CHECK_NOTHROW((void)pad(x, {9, 9}, PadMode::replicate));
  CHECK_THROWS_AS((void)pad(zeros<float>({2, 0}), {1, 0}, PadMode::replicate), ShapeError);
  CHECK_THROWS_AS((void)pad(x, {-4, 9}), ShapeError);
  CHECK_THROWS_AS((void)pad(x, {-2, -2}), ShapeError);
  CHECK_THROWS_WITH_AS((void)pad(x, {-2, 2}, PadMode::circular),
                       "pad: -2 before and 2 after dimension 1 of shape (2, 3); expected at most the extent, less what "
                       "is cropped, to go round once",
                       ShapeError);
  constexpr std::int64_t least = std::numeric_limits<std::int64_t>::min();
  constexpr std::int64_t most = std::numeric_limits<std::int64_t>::max();
  for (const PadMode mode : modes) {
    CHECK_THROWS_AS((void)pad(x, {least, most}, mode), ShapeError);
    CHECK_THROWS_AS((void)pad(x, {most, least}, mode), ShapeError);
    CHECK_THROWS_AS((void)pad(x, {least, least}, mode), ShapeError);
    CHECK_THROWS_AS((void)pad(x, {most, most}, mode), ShapeError);
    CHECK_THROWS_AS((void)pad(x, {most, 0}, mode), ShapeError);
  }
  CHECK_THROWS_AS((void)pad(zeros<std::uint8_t>({2}), {1, 1}, PadMode::constant, 300), ArgumentError);
}
