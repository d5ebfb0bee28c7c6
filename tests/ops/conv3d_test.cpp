// Runs on: host, cuda (operations); alone.
// Convolutions of volumes: values and gradients as PyTorch's, and at depth 1 as of images; refusals.

#include <locus/nn/conv3d.hpp>

#include <locus/autograd/gradcheck.hpp>
#include <locus/device/trace/launch_log.hpp>
#include <locus/locus.hpp>

#include <support/reference_device.hpp>

#ifndef LOCUS_TEST_DEVICES
#define LOCUS_TEST_DEVICES locus::Cpu, locus_test::ReferenceDevice
#endif
#include <golden/golden.hpp>
#include <support/device_list.hpp>
#include <support/reference.hpp>

#include <string>

using namespace locus;
using namespace locus_test;

namespace {
template <class D>
auto leaf(const std::string& name) {
  return variable(golden::tensor<double, D>(name));
}
}  // namespace

LOCUS_DEVICE_TEST("convolutions of volumes and their gradients are PyTorch's", D) {
  const auto check = [](const char* name, const char* weights, const Conv3dOptions& options) {
    CAPTURE(std::string(name));
    const auto x = leaf<D>("conv_volume"), w = leaf<D>(weights), b = leaf<D>(weights + std::string("_b"));
    CHECK_GOLDEN(name, conv3d(x, w, b, options), ({"x", "w", "b"}), x, w, b);
  };
  check("conv3d", "conv_w333", {});
  check("conv3d_strided", "conv_w333", {.stride = 2, .padding = 1});
  check("conv3d_triples", "conv_w123", {.stride = {1, 2, 3}, .padding = {1, 2, 1}, .dilation = {1, 3, 2}});
  check("conv3d_same", "conv_w333", {.padding = "same", .dilation = {1, 2, 1}});
  check("conv3d_pointwise", "conv_w111", {});
  check("conv3d_grouped", "conv_volume_grouped", {.padding = 1, .groups = 2});
  check("conv3d_depthwise", "conv_volume_depthwise", {.stride = {2, 1, 1}, .padding = {1, 0, 1}, .groups = 4});

  const nn::Conv3d<double, D> layer{
      4, 2, {2, 3, 2}, {.stride = {1, 2, 1}, .padding = {1, 2, 1}, .padding_mode = PadMode::replicate}};
  layer.weight.value().copy_(golden::tensor<double, D>("conv3d_layer_weight"));
  layer.bias.value().copy_(golden::tensor<double, D>("conv3d_layer_bias"));
  const auto x = leaf<D>("conv_volume");
  CHECK_GOLDEN("conv3d_layer", layer(x), ({"x", "weight", "bias"}), x, layer.weight, layer.bias);
}

LOCUS_DEVICE_TEST("convolutions of volumes of depth 1 are those of images, and many channels those of a few", D) {
  manual_seed(3);
  const auto x = randn<float, D>({2, 16, 9, 9}), w = randn<float, D>({16, 16, 3, 3}), b = randn<float, D>({16});
  const Reference flat = reference(conv2d(x, w, b, {.padding = 1}));
  CHECK_CLOSE(conv3d(x.unsqueeze(2), w.unsqueeze(2), b, {.padding = {0, 1, 1}}).squeeze(2), flat, 0);
  // A volume's planes, and a kernel of depth 1: each plane is an image.
  const auto planes = randn<float, D>({1, 16, 3, 9, 9}).transpose(1, 2).contiguous().transpose(1, 2);  // strided
  const auto y = conv3d(planes, w.unsqueeze(2), {.padding = {0, 1, 1}});
  const auto images = conv2d(planes.select(0, 0).transpose(0, 1), w, {.padding = 1, .exact = true});
  CHECK_CLOSE(y.select(0, 0).transpose(0, 1), reference(images), 1e-5);
  CHECK_CLOSE(conv3d(planes.select(0, 0), w.unsqueeze(2), {.padding = {0, 1, 1}}), reference(y.select(0, 0)), 0);
  CHECK(conv3d(x.unsqueeze(2).slice(0, 0, 0), w.unsqueeze(2)).shape() == Shape{0, 16, 1, 7, 7});
}

TEST_CASE("convolutions of volumes refuse what does not fit") {
  const Tensor<float> x({2, 3, 4, 5, 6}), w({8, 3, 3, 3, 3});
  CHECK_THROWS_WITH_AS((void)conv3d(Tensor<float>({3, 4, 5}), w),
                       doctest::Contains("expected (batch, channels, depth, height, width)"), ShapeError);
  CHECK_THROWS_WITH_AS((void)conv3d(x, Tensor<float>({8, 3, 3, 3})),
                       doctest::Contains("(out, in / groups, depth, height, width)"), ShapeError);
  CHECK_THROWS_WITH_AS((void)conv3d(x, Tensor<float>({8, 3, 5, 3, 3})),
                       doctest::Contains("a kernel of 5 dilated by 1 along dimension -3"), ShapeError);
  CHECK_THROWS_WITH_AS((void)conv3d(x, Tensor<float>({8, 2, 3, 3, 3})), doctest::Contains("take 2"), ShapeError);
  CHECK_THROWS_AS((void)conv3d(x, w, Tensor<float>({7})), ShapeError);
  CHECK_THROWS_WITH_AS((void)conv3d(x, w, {.stride = {1, 0, 1}}), doctest::Contains("a stride of (1, 0, 1)"),
                       ArgumentError);
  CHECK_THROWS_AS((void)conv3d(x, w, {.padding = {0, -1, 0}}), ArgumentError);
  CHECK_THROWS_AS((void)conv3d(x, w, {.stride = 2, .padding = "same"}), ArgumentError);
  CHECK_THROWS_AS((void)conv3d(x, w, {.groups = 2}), ShapeError);
  CHECK_THROWS_AS((nn::Conv3d<float, Cpu>{3, 8, {3, 0, 3}}), ArgumentError);
  CHECK_THROWS_AS((nn::Conv3d<float, Cpu>{3, 8, 3, {.groups = 2}}), ArgumentError);
  nn::Conv3d<float, Cpu> layer{3, 8, {1, 3, 3}, {.padding = {0, 1, 1}, .bias = false}};
  CHECK(layer.weight.shape() == Shape{8, 3, 1, 3, 3});
  CHECK(layer.parameters().size() == 1);
  const auto expected = reference(layer(ones({1, 3, 2, 4, 4})));
  CHECK_CLOSE(layer.clone()(ones({1, 3, 2, 4, 4})), expected, 0);
  CHECK_CLOSE(std::move(layer).as<double>()(ones<double>({1, 3, 2, 4, 4})), expected, 1e-5);
}
