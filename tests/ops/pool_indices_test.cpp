// Runs on: host, cuda (operations); alone.
// Max pooling with positions, unpooling, pools of volumes and power means, as PyTorch has them; transposed convolutions
// of lines and volumes.

#include <locus/nn/pool3d.hpp>
#include <locus/nn/pool_indices.hpp>

#include <locus/autograd/gradcheck.hpp>
#include <locus/locus.hpp>
#include <locus/ops/conv3d.hpp>

#include <support/reference_device.hpp>

#ifndef LOCUS_TEST_DEVICES
#define LOCUS_TEST_DEVICES locus::Cpu, locus_test::ReferenceDevice
#endif
#include <golden/golden.hpp>
#include <support/device_list.hpp>
#include <support/reference.hpp>

#include <cmath>
#include <limits>
#include <string>

using namespace locus;
using namespace locus_test;

namespace {
template <class D>
auto leaf(const std::string& name) {
  return variable(golden::tensor<double, D>(name));
}
template <class D, class X, class Pooled>
void check_pooled(const std::string& name, const X& x, const Pooled& pooled) {
  CAPTURE(name);
  x.zero_grad();
  CHECK_CLOSE(pooled.indices, golden::reference(name + "_indices"), 0);
  CHECK_GOLDEN(name, pooled.values, ({"x"}), x);
}
}  // namespace

LOCUS_DEVICE_TEST("max pooling's positions and gradients are PyTorch's", D) {
  const auto line = leaf<D>("mp_line"), image = leaf<D>("mp_image"), volume = leaf<D>("mp_volume");
  check_pooled<D>("mp1", line, nn::MaxPool1d{3, 2, 1, {.dilation = 2, .ceil_mode = true}}.with_indices(line));
  check_pooled<D>("mp2", image, max_pool2d_with_indices(image, {3, 2}, {2, 1}, {1, 0}));
  const nn::MaxPool3d pool{2, {1, 2, 1}, {0, 1, 1}, {.dilation = {1, 2, 1}}};
  check_pooled<D>("mp3", volume, pool.with_indices(volume));
  check_pooled<D>("amp1", line, nn::AdaptiveMaxPool1d{4}.with_indices(line));
  check_pooled<D>("amp2", image, nn::AdaptiveMaxPool2d{{4, 3}}.with_indices(image));
  check_pooled<D>("amp3", volume, nn::AdaptiveMaxPool3d{{3, 2, 3}}.with_indices(volume));
  volume.zero_grad();
  CHECK_GOLDEN("mp3", pool(volume), ({"x"}), volume);
  CHECK_CLOSE(adaptive_max_pool2d(image, {4, 3}), golden::reference("amp2"));
  CHECK_CLOSE(adaptive_max_pool1d(line.value().select(0, 1), 4), reference(adaptive_max_pool1d(line, 4).select(0, 1)));
}

LOCUS_DEVICE_TEST("unpooling puts elements back, and keeps the last of several", D) {
  const auto x = leaf<D>("mu2_x");
  const auto indices = golden::tensor<std::int64_t, D>("mu2_indices");
  CHECK_GOLDEN("mu2", max_unpool2d(x, indices, 2, 2, 0, {6, 7}), ({"x"}), x);
  const auto even = max_pool2d_with_indices(randn<float, D>({1, 2, 6, 6}), 2);
  CHECK(nn::MaxUnpool2d{2}(even.values, even.indices).shape() == Shape{1, 2, 6, 6});
  const auto odd = randn<float, D>({1, 2, 5, 7});
  const auto of_odd = max_pool2d_with_indices(odd, 2);
  const nn::MaxUnpool2d unpool{2};
  CHECK(unpool(of_odd.values, of_odd.indices, odd.shape()).shape() == odd.shape());
  CHECK_CLOSE(unpool(of_odd.values, of_odd.indices, Shape{5, 7}),
              reference(unpool(of_odd.values, of_odd.indices, odd.shape())), 0);
  CHECK_THROWS_WITH_AS((void)unpool(of_odd.values, of_odd.indices, Shape{1, 3, 5, 7}),
                       doctest::Contains("an output size of (1, 3, 5, 7) for an input of shape (1, 2, 2, 3)"),
                       ShapeError);
  const auto line = variable(tensor<float, D>({1, 1, 3}, {1, 2, 3}));
  const auto y = max_unpool1d(line, tensor<std::int64_t, D>({1, 1, 3}, {4, 0, 4}), 2);
  CHECK_CLOSE(y, Reference({1, 1, 6}, {2, 0, 0, 0, 3, 0}));
  y.backward(tensor<float, D>({1, 1, 6}, {1, 2, 3, 4, 5, 6}));
  CHECK_CLOSE(line.grad(), Reference({1, 1, 3}, {0, 1, 5}));
  const auto volume = randn<float, D>({2, 3, 4, 4, 2});
  const auto [values, places] = max_pool3d_with_indices(volume, 2);
  CHECK_CLOSE(max_pool3d(max_unpool3d(values, places, 2), 2), reference(maximum(values, 0.f)));
  CHECK(max_unpool3d(Tensor<float, D>({0, 3, 2, 2, 1}), Tensor<std::int64_t, D>({0, 3, 2, 2, 1}), 2).shape() ==
        Shape{0, 3, 4, 4, 2});
}

LOCUS_DEVICE_TEST("positions: the first of equals, NaN before all, nothing for a window of the border", D) {
  const float nan = std::numeric_limits<float>::quiet_NaN(), infinity = std::numeric_limits<float>::infinity();
  const auto x = variable(tensor<float, D>({1, 1, 8}, {1, 1, 2, nan, nan, 5, -infinity, -infinity}));
  const auto [values, indices] = max_pool1d_with_indices(x, 2);
  CHECK_CLOSE(indices, Reference({1, 1, 4}, {0, 3, 4, 6}), 0);
  values.backward(tensor<float, D>({1, 1, 4}, {1, 2, 3, 4}));
  CHECK_CLOSE(x.grad(), Reference({1, 1, 8}, {1, 0, 0, 2, 3, 0, 4, 0}));
  const auto border = max_pool1d_with_indices(ones<float, D>({1, 1, 1}), 2, 1, 2, {.dilation = 3});
  CHECK(reference(border.values).values[0] == -infinity);
  CHECK(reference(border.indices).values[0] == -1);
  const auto halves = tensor<half, D>({1, 1, 2, 2}, {1, 2, 4, 3});
  CHECK_CLOSE(max_pool2d_with_indices(halves, 2).values, Reference({1, 1, 1, 1}, {4}));
  CHECK(max_pool3d(Tensor<float, D>({0, 2, 4, 4, 4}), 2).shape() == Shape{0, 2, 2, 2, 2});
}

LOCUS_DEVICE_TEST("means of volumes and power means are PyTorch's", D) {
  const auto volume = leaf<D>("ap_volume"), line = leaf<D>("mp_line"), positive = leaf<D>("lp_x");
  const auto check = [](const char* name, const auto& y, const auto& x) {
    CAPTURE(std::string(name));
    x.zero_grad();
    CHECK_GOLDEN(name, y, ({"x"}), x);
  };
  check("ap3", (nn::AvgPool3d{{2, 3, 2}, 2, 1, {.ceil_mode = true}}(volume)), volume);
  check("ap3_excluded", avg_pool3d(volume, 2, {1, 2, 2}, 1, {.count_include_pad = false}), volume);
  check("ap3_divisor", avg_pool3d(volume, 2, same_as_kernel, 0, {.divisor_override = 3}), volume);
  check("aap1", nn::AdaptiveAvgPool1d{4}(line), line);
  check("aap3", nn::AdaptiveAvgPool3d{{3, 2, 3}}(volume), volume);
  check("lp2", nn::LPPool2d{3.5, {2, 3}, 2, true}(positive), positive);
  check("lp1", nn::LPPool1d{2, 3}(line), line);
  const auto zero = variable(zeros<float, D>({1, 1, 4}));
  sum(lp_pool1d(zero, 2, 2)).backward();
  CHECK_CLOSE(zero.grad(), Reference({1, 1, 4}, {0, 0, 0, 0}));
  CHECK_CLOSE(lp_pool3d(full<half, D>({1, 1, 2, 2, 2}, 300), 2, 2), Reference({1, 1, 1, 1, 1}, {848.5}), 1e-3);
  CHECK_CLOSE(adaptive_avg_pool1d(line, 1), reference(mean(line.value(), -1, true)));
}

LOCUS_DEVICE_TEST("transposed convolutions of lines and volumes are PyTorch's", D) {
  const auto x = leaf<D>("ct1_x"), w = leaf<D>("ct1_w"), b = leaf<D>("ct1_b");
  CHECK_GOLDEN("ct1",
               conv_transpose1d(x, w, b, {.stride = 3, .padding = 1, .output_padding = 2, .groups = 2, .dilation = 2}),
               ({"x", "w", "b"}), x, w, b);
  const auto v = leaf<D>("ct3_x"), u = leaf<D>("ct3_w"), c = leaf<D>("ct3_b");
  const ConvTranspose3dOptions options{
      .stride = {1, 2, 2}, .padding = {0, 1, 1}, .output_padding = {0, 1, 0}, .groups = 2, .dilation = {2, 1, 1}};
  CHECK_GOLDEN("ct3", conv_transpose3d(v, u, c, options), ({"x", "w", "b"}), v, u, c);
}

TEST_CASE("pools and unpooling refuse what does not fit") {
  const Tensor<float> x({2, 3, 4, 5}), volume({2, 3, 4, 5, 6});
  CHECK_THROWS_WITH_AS((void)max_pool3d(x.select(0, 0), 2),
                       doctest::Contains("expected (batch, channels, depth, height, width)"), ShapeError);
  CHECK_THROWS_WITH_AS((void)max_pool3d(volume, {2, 0, 2}), doctest::Contains("a kernel of (2, 0, 2)"), ArgumentError);
  CHECK_THROWS_WITH_AS((void)avg_pool3d(volume, 2, 1, 2), doctest::Contains("padding of (2, 2, 2)"), ArgumentError);
  CHECK_THROWS_WITH_AS((void)max_pool2d_with_indices(x, 6), doctest::Contains("max_pool2d_with_indices"), ShapeError);
  CHECK_THROWS_AS(nn::AdaptiveMaxPool2d{0}, ArgumentError);
  CHECK_THROWS_AS((nn::AdaptiveAvgPool3d{{1, -1, 2}}), ArgumentError);
  CHECK_THROWS_WITH_AS((nn::LPPool2d{0, 2}), doctest::Contains("p is 0"), ArgumentError);
  CHECK_THROWS_AS((nn::LPPool1d{2, 0}), ArgumentError);
  CHECK_THROWS_AS((void)lp_pool2d(x, std::numeric_limits<double>::infinity(), 2), ArgumentError);
  const Tensor<std::int64_t> indices = zeros<std::int64_t>({2, 3, 4, 5});
  CHECK_THROWS_WITH_AS((void)max_unpool2d(x, indices.slice(0, 0, 1), 2), doctest::Contains("expected equal shapes"),
                       ShapeError);
  CHECK_THROWS_WITH_AS((void)max_unpool2d(x, indices, 2, 2, 0, {8, 13}),
                       doctest::Contains("expected more than 8 and less than 12"), ShapeError);
  CHECK_THROWS_WITH_AS((void)max_unpool2d(x, indices, 2, 2, 0, {8}), doctest::Contains("expected 2 extents"),
                       ShapeError);
  CHECK_THROWS_AS((void)max_unpool2d(x, full<std::int64_t>({2, 3, 4, 5}, 80), 2), IndexError);
  CHECK_THROWS_AS((void)max_unpool2d(x, indices, 2, 0), ArgumentError);
  CHECK_THROWS_WITH_AS((void)conv_transpose1d(randn({1, 2, 3}), randn({2, 2, 3}), {.stride = 2, .output_padding = 2}),
                       doctest::Contains("conv_transpose1d: output padding of 2"), ArgumentError);
}
