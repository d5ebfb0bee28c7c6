// Runs on: host, cuda (operations); alone.
// Sampling at points of a grid, and grids of affine maps: values and gradients as PyTorch's, for every mode.

#include <locus/ops/grid_sample.hpp>

#include <locus/autograd/gradcheck.hpp>
#include <locus/locus.hpp>

#include <support/reference_device.hpp>

#ifndef LOCUS_TEST_DEVICES
#define LOCUS_TEST_DEVICES locus::Cpu, locus_test::ReferenceDevice
#endif
#include <golden/golden.hpp>
#include <support/device_list.hpp>
#include <support/reference.hpp>

#include <limits>
#include <string>

using namespace locus;
using namespace locus_test;

namespace {
constexpr std::pair<SampleMode, const char*> modes[] = {
    {SampleMode::bilinear, "bilinear"}, {SampleMode::nearest, "nearest"}, {SampleMode::bicubic, "bicubic"}};
constexpr std::pair<SamplePadding, const char*> paddings[] = {
    {SamplePadding::zeros, "zeros"}, {SamplePadding::border, "border"}, {SamplePadding::reflection, "reflection"}};
}  // namespace

LOCUS_DEVICE_TEST("samples of images and volumes are PyTorch's, in every mode", D) {
  const auto leaf = [](const char* name) { return variable(golden::tensor<double, D>(name)); };
  const auto image = leaf("gs_image"), points = leaf("gs_points"), volume = leaf("gs_volume"), deep = leaf("gs_deep");
  const auto check = [](const std::string& name, const auto& x, const auto& grid, const GridSampleOptions& options) {
    CAPTURE(name);
    x.zero_grad(), grid.zero_grad();
    CHECK_GOLDEN(name, grid_sample(x, grid, options), ({"x", "grid"}), x, grid);
  };
  for (const auto& [mode, word] : modes) {
    for (const auto& [padding, name] : paddings) {
      const std::string end = std::string(word) + "_" + name;
      for (const bool aligned : {false, true})
        check("gs_" + end + (aligned ? "_1" : "_0"), image, points, {mode, padding, aligned});
      if (mode != SampleMode::bicubic)
        check("gs3_" + end, volume, deep, {mode, padding, padding == SamplePadding::border});
    }
  }
  const auto flat = leaf("ag_flat"), spatial = leaf("ag_spatial");
  for (const bool aligned : {false, true}) {
    const std::string end = aligned ? "_1" : "_0";
    flat.zero_grad(), spatial.zero_grad();
    CHECK_GOLDEN("ag2" + end, affine_grid(flat, {2, 5, 3, 4}, aligned), ({"theta"}), flat);
    CHECK_GOLDEN("ag3" + end, affine_grid(spatial, {1, 5, 2, 3, 1}, aligned), ({"theta"}), spatial);
  }
}

LOCUS_DEVICE_TEST("cubic samples of volumes, views, and gradients that are added to", D) {
  manual_seed(3);
  const auto volume = randn<double, D>({1, 2, 2, 3, 2}), grid = rand<double, D>({1, 1, 2, 2, 3});
  CHECK(gradcheck([](auto x, auto g) { return grid_sample(x, g, {.mode = SampleMode::bicubic}); }, volume, grid));
  const auto image = randn<float, D>({2, 5, 4, 3}), points = rand<float, D>({2, 6, 2, 2});
  const auto turned = image.transpose(2, 3);
  CHECK_CLOSE(grid_sample(turned, points), reference(grid_sample(turned.contiguous(), points)), 0);
  const auto x = variable(image);
  (sum(grid_sample(x, points)) + sum(x)).backward();
  const auto alone = variable(image);
  sum(grid_sample(alone, points)).backward();
  CHECK_CLOSE(x.grad(), reference(alone.grad() + 1.f), 1e-5);
  const auto identity = affine_grid(tensor<float, D>({1, 2, 3}, {1, 0, 0, 0, 1, 0}), {1, 1, 4, 3});
  CHECK_CLOSE(grid_sample(image.slice(0, 0, 1), identity), reference(image.slice(0, 0, 1)), 1e-5);
  const auto halves = variable(image.template as<half>());
  sum(grid_sample(halves, points.template as<half>())).backward();
  CHECK_CLOSE(halves.grad(), reference(alone.grad()), 2e-2);
  CHECK(grid_sample(Tensor<float, D>({0, 5, 4, 3}), Tensor<float, D>({0, 6, 2, 2})).shape() == Shape{0, 5, 6, 2});
}

LOCUS_DEVICE_TEST("points that are no numbers read nothing outside the image", D) {
  const double infinity = std::numeric_limits<double>::infinity(), nan = std::numeric_limits<double>::quiet_NaN();
  const auto x = variable(ones<float, D>({1, 1, 3, 3}));
  const auto grid = tensor<float, D>({1, 1, 4, 2}, {infinity, 0, nan, 0, -1e30, 1e30, -infinity, nan});
  for (const auto& [mode, word] : modes) {
    for (const auto& [padding, name] : paddings) {
      const auto y = grid_sample(x, grid, {mode, padding});
      CHECK(y.shape() == Shape{1, 1, 1, 4});
      sum(y).backward();
    }
  }
  CHECK_CLOSE(grid_sample(x, grid, {SampleMode::nearest}), Reference({1, 1, 1, 4}, {0, 0, 0, 0}));
}

TEST_CASE("grid_sample and affine_grid refuse what does not fit") {
  const Tensor<float> x({2, 3, 4, 5});
  CHECK_THROWS_WITH_AS((void)grid_sample(x, Tensor<float>({2, 6, 6, 3})), doctest::Contains("(n, rows, cols, 2)"),
                       ShapeError);
  CHECK_THROWS_AS((void)grid_sample(x, Tensor<float>({1, 6, 6, 2})), ShapeError);
  CHECK_THROWS_AS((void)grid_sample(x.select(0, 0), Tensor<float>({6, 6, 2})), ShapeError);
  CHECK_THROWS_AS((void)grid_sample(x.slice(2, 0, 0), Tensor<float>({2, 6, 6, 2})), ShapeError);
  CHECK_THROWS_WITH_AS((void)affine_grid(Tensor<float>({2, 2, 2}), {2, 1, 4, 4}), doctest::Contains("(n, 2, 3)"),
                       ShapeError);
  CHECK_THROWS_AS((void)affine_grid(Tensor<float>({2, 2, 3}), {2, 1, 4}), ShapeError);
}
