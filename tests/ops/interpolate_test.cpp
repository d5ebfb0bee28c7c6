// Runs on: host, cuda (windows).
// interpolate and nn::Upsample against PyTorch, with the promised launches.

#include <locus/autograd/gradcheck.hpp>
#include <locus/device/trace/launch_log.hpp>
#include <locus/nn/upsample.hpp>
#include <locus/ops/interpolate.hpp>
#include <locus/ops/reduce.hpp>
#include <locus/ops/view.hpp>
#include <locus/tensor/factory.hpp>

#include <golden/golden.hpp>
#include <support/device_list.hpp>
#include <support/reference.hpp>

#include <cmath>
#include <string>

using namespace locus;
using locus_test::reference;
using locus_test::sample;

namespace {
constexpr auto bilinear = InterpolateMode::bilinear;
}

LOCUS_DEVICE_TEST("interpolate and its gradient agree with PyTorch", D) {
  const auto check = [](const std::string& name, const InterpolateOptions& options) {
    CAPTURE(name);
    const auto x = variable(golden::tensor<double, D>("interpolate_x"));
    CHECK_GOLDEN("interpolate_" + name, interpolate(x, options), ({"x"}), x);
  };
  check("nearest_2", {.scale_factor = 2});
  check("nearest_up", {.size = {7, 13}});
  check("nearest_down", {.size = {3, 2}});
  check("nearest_factors", {.scale_factor = {1.6, 0.7}});
  for (const bool align : {false, true}) {
    const std::string name = align ? "aligned_" : "bilinear_";
    check(name + "2", {.scale_factor = 2, .mode = bilinear, .align_corners = align});
    check(name + "up", {.size = {7, 13}, .mode = bilinear, .align_corners = align});
    check(name + "down", {.size = {3, 1}, .mode = bilinear, .align_corners = align});
    check(name + "factors", {.scale_factor = {1.6, 0.7}, .mode = bilinear, .align_corners = align});
  }
  check("bilinear_kept", {.scale_factor = 1.1, .mode = bilinear});
  check("bilinear_kept_one", {.scale_factor = {2, 1.15}, .mode = bilinear});
}

LOCUS_DEVICE_TEST("views, second uses, many sizes", D) {
  const auto f = [](const auto& v) {
    const auto turned = transpose(slice(v, 3, 0, 5, 2), 1, 2);
    return sum(interpolate(turned, {.size = {4, 5}, .mode = bilinear})) +
           sum(square(interpolate(turned, {.size = {2, 7}}))) +
           sum(square(interpolate(v, {.size = 1, .mode = bilinear})));
  };
  const auto found = gradcheck(f, sample<double, D>({1, 2, 3, 5}));
  CHECK_MESSAGE(found, found.what());
  // Each element of the result is a mean of weights that add up to 1, which the gradient gives back.
  for (const auto mode : {InterpolateMode::nearest, bilinear}) {
    for (const std::int64_t extent : {1, 2, 7, 33}) {
      for (const std::int64_t size : {1, 3, 14, 66, 97}) {
        CAPTURE(extent);
        CAPTURE(size);
        const auto x = variable(ones<float, D>({1, 1, extent, 2}));
        const auto y = interpolate(x, {.size = {size, 3}, .mode = mode});
        CHECK_CLOSE(y, reference(ones<float, D>({1, 1, size, 3})));
        y.backward(ones<float, D>({1, 1, size, 3}));
        CHECK_CLOSE(sum(x.grad()), 3.0 * static_cast<double>(size), 1e-5);
      }
    }
  }
}

LOCUS_DEVICE_TEST("16 bits, and batches of none", D) {
  if constexpr (locus_test::all_dtypes<D>) {
    const auto narrow = sample<half, D>({1, 2, 4, 3});
    for (const auto mode : {InterpolateMode::nearest, bilinear}) {
      const auto x = variable(narrow);
      const auto wide = variable(narrow.template as<double>());
      const auto y = interpolate(x, {.size = {6, 4}, .mode = mode});
      const auto exact = interpolate(wide, {.size = {6, 4}, .mode = mode});
      CHECK_CLOSE(y, reference(exact), 1e-3);
      const auto g = sample<half, D>({1, 2, 6, 4}, 2);
      y.backward(g);
      exact.backward(g.template as<double>());
      CHECK_CLOSE(x.grad(), reference(wide.grad()), 2e-3);
    }
  }
  const auto none = variable(Tensor<float, D>({0, 2, 3, 3}));
  const auto y = interpolate(none, {.scale_factor = 2});
  CHECK(y.shape() == Shape{0, 2, 6, 6});
  y.backward(Tensor<float, D>({0, 2, 6, 6}));
  CHECK(none.grad().shape() == Shape{0, 2, 3, 3});
}

LOCUS_DEVICE_TEST("one launch forward, one backward, and the layer does the same", D) {
  const auto x = variable(sample<float, D>({2, 2, 3, 4}));
  for (const auto mode : {InterpolateMode::nearest, bilinear}) {
    const LaunchLog forward;
    const auto y = interpolate(x, {.scale_factor = 2, .mode = mode});
    CHECK(forward.counts().total() == 1);
    const LaunchLog backward;
    y.backward(sample<float, D>({2, 2, 6, 8}, 2));
    CHECK(backward.counts().total() == 1);
    CHECK_CLOSE((nn::Upsample{{.scale_factor = 2, .mode = mode}}(x.value())), reference(y), 0);
  }
}

TEST_CASE("sizes, factors and shapes that mean nothing are refused") {
  const Tensor<float> x({1, 2, 3, 4});
  const auto refuses = [&](const InterpolateOptions& options, const char* words) {
    CHECK_THROWS_WITH_AS((void)interpolate(x, options), doctest::Contains(words), ArgumentError);
    CHECK_THROWS_WITH_AS((void)nn::Upsample(options), doctest::Contains(words), ArgumentError);
  };
  refuses({}, "neither a size nor a scale factor");
  refuses({.size = 2, .scale_factor = 2}, "both a size and a scale factor");
  refuses({.size = {2, 0}}, "a size of (2, 0)");
  refuses({.scale_factor = -1}, "a scale factor of -1");
  refuses({.scale_factor = {1, std::nan("")}}, "nan");
  refuses({.size = 2, .align_corners = true}, "align_corners");
  CHECK_THROWS_WITH_AS((void)interpolate(x, {.scale_factor = 0.3}), doctest::Contains("has no elements"), ShapeError);
  CHECK_THROWS_AS((void)interpolate(x, {.scale_factor = 1e30}), ShapeError);
  CHECK_THROWS_AS((void)interpolate(Tensor<float>({2, 3, 4}), {.size = 2}), ShapeError);
  CHECK_THROWS_AS((void)interpolate(Tensor<float>({2, 3, 0, 4}), {.size = 2}), ShapeError);
}
