// Runs on: host, cuda (windows), reference.
// Channels-last images: results and gradients equal the row-major ones, and are channels-last again.

#include <locus/locus.hpp>
#include <locus/ops/conv3d.hpp>

#include <support/device_list.hpp>

#include <limits>
#include <string>

using namespace locus;
using namespace locus_test;

namespace {

/// Random numbers that are almost surely distinct.
template <class T, class D>
Tensor<T, D> numbers(const Shape& shape, std::uint64_t seed) {
  Generator<Cpu> generator{seed};
  return Tensor<T, D>(normal<float>(0, 1, shape, generator).template as<T>().template to<D>());
}

/// f(x) and the gradients of x and of parameters, of row-major and of channels-last images.
template <class T, class D, class F>
void check_kept(const std::string& name, const Tensor<T, D>& x, const F& f,
                const std::vector<Parameter<T, D>>& parameters = {}) {
  INFO(name);
  INFO("shape " << to_string(x.shape()));
  const double tolerance = std::is_same_v<T, float> ? 2e-5 : 2e-2;
  const CloseOptions close{.relative = tolerance, .absolute = tolerance};
  for (const auto& parameter : parameters) parameter.zero_grad();
  const auto input = variable(x);
  const auto y = f(input).eval();
  const auto g = numbers<T, D>(y.shape(), 77);
  y.backward(g);
  std::vector<Tensor<T, D>> expected;
  for (const auto& parameter : parameters) {
    expected.push_back(parameter.grad().clone());
    parameter.zero_grad();
  }
  const auto turned = variable(x.channels_last());
  const auto images = (turned * 1).eval();
  bool gradient_is_kept = false;
  const auto hook = images.on_gradient([&](const auto& gradient) { gradient_is_kept = gradient.is_channels_last(); });
  const auto z = f(images).eval();
  z.backward(g.channels_last());
  CHECK(z.value().is_channels_last());
  CHECK(z.value().layout().is_dense(MemoryFormat::channels_last));
  CHECK(gradient_is_kept);
  CHECK(allclose(z.value(), y.value(), close));
  CHECK(turned.grad().is_channels_last());
  CHECK(allclose(turned.grad(), input.grad(), close));
  for (std::size_t i = 0; i < parameters.size(); ++i) CHECK(allclose(parameters[i].grad(), expected[i], close));
}

template <class T, class D>
Parameter<T, D> weights(const Shape& shape, std::uint64_t seed) {
  return Parameter<T, D>(Tensor<T, D>(numbers<T, D>(shape, seed) * 0.3f));
}

template <class T, class D>
void check_convolution(const Shape& images, const Shape& kernel, const Conv2dOptions& options) {
  const auto w = weights<T, D>(kernel, 5), b = weights<T, D>({kernel[0]}, 6);
  check_kept("conv2d " + to_string(kernel), numbers<T, D>(images, 4),
             [&](const auto& v) { return conv2d(v, w, b, options); }, {w, b});
}

}  // namespace

LOCUS_DEVICE_TEST("channels_last changes strides alone, and back", D) {
  const auto x = numbers<float, D>({2, 3, 4, 5}, 1);
  const auto y = x.channels_last();
  CHECK(y.shape() == x.shape());
  CHECK(y.strides() == Strides{60, 1, 15, 3});
  CHECK((y.is_channels_last() && !x.is_channels_last() && !y.is_contiguous()));
  CHECK(allclose(x, y, {.relative = 0, .absolute = 0}));
  CHECK(y.channels_last().data() == y.data());
  CHECK((y.contiguous().strides() == x.strides() && y.clone().is_contiguous()));
  const auto volumes = numbers<float, D>({2, 3, 2, 4, 5}, 1).channels_last();
  CHECK((volumes.strides() == Strides{120, 1, 60, 15, 3} && volumes.is_channels_last()));
  // One channel, or one element, lies in both orders: nothing is copied, and strides tell.
  for (const Shape& shape : {Shape{2, 1, 4, 5}, Shape{2, 6, 1, 1}}) {
    const auto both = numbers<float, D>(shape, 1);
    CHECK((!both.is_channels_last() && both.channels_last().is_channels_last()));
    CHECK(both.channels_last().data() == both.data());
  }
  CHECK((!zeros<float, D>({1, 1, 1, 1}).is_channels_last() && !zeros<float, D>({0, 3, 2, 2}).is_channels_last()));
  CHECK(!zeros<float, D>({3, 1, 1, 1}).expand({3, 4, 5, 6}).is_channels_last());
  CHECK((y.template as<double>().is_channels_last() && y.template to<Cpu>().is_channels_last()));
  CHECK(y.slice(1, 0, 2).is_channels_last());
  CHECK(numbers<float, D>({4, 5, 3}, 1).permute({2, 0, 1}).unsqueeze(0).is_channels_last());  // one image
  const auto matrix = zeros<float, D>({2, 3});
  CHECK_THROWS_WITH_AS((void)matrix.channels_last(),
                       "channels_last: shape (2, 3); expected images (batch, channels, height, width) or volumes "
                       "(batch, channels, depth, height, width)",
                       ShapeError);
}

LOCUS_DEVICE_TEST("elementwise results are channels-last where an operand is, and none is row-major", D) {
  const auto plain = numbers<float, D>({2, 3, 4, 5}, 1), other = numbers<float, D>({2, 3, 4, 5}, 2);
  const auto x = plain.channels_last(), bias = numbers<float, D>({3, 1, 1}, 3);
  const CloseOptions same{.relative = 0, .absolute = 0};
  const auto check = [&](const auto& y, const auto& expected, bool is_kept) {
    CHECK(Tensor(y).is_channels_last() == is_kept);
    CHECK(allclose(y, expected, same));
  };
  check(x * 2 + bias, plain * 2 + bias, true);
  check(x + other, plain + other, false);
  check(x + other.channels_last(), plain + other, true);
  check(x > 0.f, plain > 0.f, true);
  check(where(x > 0.f, x, bias), where(plain > 0.f, plain, bias), true);
  check(x.slice(1, 1, 3) * 2, plain.slice(1, 1, 3) * 2, true);
  check(x + numbers<float, D>({5, 4, 3, 2}, 9).permute({3, 2, 1, 0}),
        plain + numbers<float, D>({5, 4, 3, 2}, 9).permute({3, 2, 1, 0}), true);
  // In place, each target in its own order.
  auto target = plain.clone();
  auto turned = x.template as<double>();
  target += x;
  turned += plain.template as<double>();
  check(target, plain + plain, false);
  check(turned.template as<float>(), plain + plain, true);
  // The numbers of a draw belong to elements, and not to places in memory.
  Generator<D> first{3}, second{3};
  check(dropout(trace(x), 0.5, first).value(), dropout(trace(plain), 0.5, second).value(), true);
}

LOCUS_DEVICE_TEST("convolutions keep channels-last", D) {
  check_convolution<float, D>({2, 32, 9, 10}, {48, 32, 3, 3}, {.padding = 1});               // Winograd's tiles
  check_convolution<float, D>({2, 20, 9, 10}, {36, 20, 3, 3}, {.padding = 1});               // lanes not filled
  check_convolution<float, D>({3, 17, 9, 10}, {33, 17, 3, 3}, {.stride = 2, .padding = 1});  // direct
  check_convolution<float, D>({12, 32, 3, 3}, {20, 32, 3, 3}, {.stride = 2, .padding = 1});  // of several images
  check_convolution<float, D>({2, 24, 7, 6}, {40, 24, 1, 1}, {});                            // a product
  check_convolution<float, D>({2, 24, 7, 6}, {40, 24, 1, 1}, {.stride = 2});
  check_convolution<float, D>({2, 3, 9, 8}, {24, 3, 5, 5}, {.stride = {2, 1}, .padding = 2});  // columns
  check_convolution<float, D>({2, 12, 9, 8}, {24, 4, 3, 3}, {.padding = 1, .groups = 3});      // columns of groups
  check_convolution<float, D>({2, 12, 9, 8}, {6, 6, 1, 1}, {.groups = 2});
  check_convolution<float, D>({2, 12, 9, 8}, {12, 2, 3, 3}, {.dilation = 2, .groups = 6});  // few channels
  check_convolution<float, D>({2, 21, 9, 8}, {21, 1, 3, 3}, {.padding = 1, .groups = 21});  // depthwise, lanes
  check_convolution<float, D>({2, 18, 9, 8}, {36, 1, 3, 3}, {.stride = 2, .padding = 1, .groups = 18});
  check_convolution<float, D>({2, 4, 9, 8}, {8, 1, 3, 3}, {.stride = 2, .padding = 1, .groups = 4});
  check_convolution<float, D>({2, 1, 9, 8}, {5, 1, 3, 3}, {});  // in both orders
  check_convolution<float, D>({2, 5, 3, 3}, {1, 5, 3, 3}, {.padding = 1});
  check_convolution<float, D>({2, 32, 4, 4}, {32, 32, 4, 4}, {});  // one window
  check_convolution<bfloat16, D>({2, 32, 9, 10}, {48, 32, 3, 3}, {.padding = 1});
  check_convolution<bfloat16, D>({2, 16, 17, 20}, {40, 16, 3, 3}, {.padding = 1});
  check_convolution<bfloat16, D>({2, 20, 9, 10}, {36, 20, 3, 3}, {.stride = 2, .padding = 1});
  check_convolution<bfloat16, D>({2, 20, 9, 10}, {36, 20, 3, 3}, {.stride = 3, .padding = 1});
  check_convolution<bfloat16, D>({2, 24, 7, 6}, {40, 24, 1, 1}, {});
  check_convolution<bfloat16, D>({2, 3, 9, 8}, {24, 3, 5, 5}, {.padding = 2});
  check_convolution<bfloat16, D>({2, 16, 9, 8}, {16, 1, 3, 3}, {.padding = 1, .groups = 16});
  const auto w = weights<float, D>({20, 6, 3, 3}, 5), b = weights<float, D>({6}, 6);
  check_kept("conv_transpose2d", numbers<float, D>({2, 20, 5, 6}, 4),
             [&](const auto& v) { return conv_transpose2d(v, w, b, {.stride = 2, .padding = 1}); }, {w, b});
  const auto k = weights<float, D>({8, 4, 2, 3, 3}, 5), c = weights<float, D>({8}, 6);
  check_kept("conv3d", numbers<float, D>({2, 4, 4, 5, 6}, 4), [&](const auto& v) { return conv3d(v, k, c); }, {k, c});
}

LOCUS_DEVICE_TEST("norms, pools, interpolation and others keep channels-last", D) {
  const auto x = numbers<float, D>({3, 12, 7, 6}, 4);
  const auto w = weights<float, D>({12}, 5), b = weights<float, D>({12}, 6);
  const auto check = [&](const char* name, const auto& f) { check_kept(name, x, f); };
  check_kept("batch_norm", x,
             [&](const auto& v) { return batch_norm(v, RunningStatistics<float, D>{}, w, b, {.relu = true}); }, {w, b});
  const auto residual = variable(numbers<float, D>(x.shape(), 8).channels_last());
  check_kept(
      "batch_norm with a residual", x,
      [&](const auto& v) { return batch_norm(v, RunningStatistics<float, D>{}, w, b, residual, {.relu = true}); },
      {w, b});
  check_kept("group_norm", x, [&](const auto& v) { return group_norm(v, 4, w, b); }, {w, b});
  check("group_norm without weights", [](const auto& v) { return group_norm(v, 4); });
  check("max_pool2d", [](const auto& v) { return max_pool2d(v, 3, 2, 1); });
  check("max_pool2d, dilated", [](const auto& v) { return max_pool2d(v, {3, 2}, 1, 1, {.dilation = {2, 3}}); });
  check("avg_pool2d", [](const auto& v) { return avg_pool2d(v, 3, 2, 1, {.count_include_pad = false}); });
  check("adaptive_avg_pool2d", [](const auto& v) { return adaptive_avg_pool2d(v, {3, 4}); });
  check("interpolate, nearest", [](const auto& v) { return interpolate(v, {.scale_factor = {2, 1.5}}); });
  check("interpolate, bilinear", [](const auto& v) {
    return interpolate(v, {.size = {5, 11}, .mode = InterpolateMode::bilinear});
  });
  for (const PadMode mode : {PadMode::reflect, PadMode::replicate, PadMode::circular})
    check("pad", [&](const auto& v) { return pad(v * 1, {1, 2, 3, 0}, mode); });
  check("pad by a constant", [](const auto& v) { return pad(v, {1, 2, 3, 0}, PadMode::constant, 2); });
  check("concat", [](const auto& v) { return concat(1, v * 2, v); });
  check_kept("prelu", x, [&](const auto& v) { return prelu(v, w); }, {w});
  check("an expression of several functions", [](const auto& v) { return silu(v) * v + 1; });
}

LOCUS_DEVICE_TEST("what is added to a gradient goes where the gradient has it", D) {
  const CloseOptions close{.relative = 1e-5, .absolute = 1e-5};
  // Views leave any stride to the dimensions of one element.
  const auto check_sum = [&](const auto& x, const auto& view, const auto& f) {
    const auto images = variable(x), alone = variable(x.contiguous());
    const auto viewed = view(images);
    const auto g = numbers<float, D>(viewed.shape(), 7);
    sum(viewed * g).backward();
    const auto first = images.grad().clone();
    sum(f(images)).backward();
    sum(f(alone)).backward();
    CHECK(allclose(images.grad(), first + alone.grad(), close));
  };
  const auto columns = numbers<float, D>({2, 32, 6, 1}, 1), w = numbers<float, D>({32, 32, 3, 1}, 2);
  check_sum(
      columns, [](const auto& v) { return v.transpose(2, 3); },
      [&](const auto& v) {
        return square(conv2d(v, w, {.padding = {1, 0}}));
      });
  const auto image = numbers<float, D>({1, 16, 6, 5}, 3).channels_last(), k = numbers<float, D>({16, 16, 1, 1}, 4);
  const auto turned = [](const auto& v) { return v.permute({2, 3, 0, 1}); };
  check_sum(image, turned, [](const auto& v) { return square(max_pool2d(v, 2)); });
  check_sum(image, turned, [&](const auto& v) { return square(conv2d(v, k)); });
  // One volume without a batch has four dimensions, too, but is no batch of images.
  const auto volume = numbers<float, D>({2, 3, 4, 8}, 5), p = numbers<float, D>({4, 2, 1, 1, 1}, 6);
  const auto rows = variable(volume), last = variable(volume.channels_last());
  sum(square(conv3d(rows, p))).backward();
  sum(square(conv3d(last, p))).backward();
  CHECK(allclose(last.grad(), rows.grad(), close));
  // Gradients that are handed on by reference keep the order, too.
  const auto input = variable(volume.channels_last());
  const auto used = (input * 1).eval();
  bool is_kept = false;
  const auto hook = used.on_gradient([&](const auto& gradient) { is_kept = gradient.is_channels_last(); });
  sum(square(channels_last(used)) + square(channels_last(used) * 2)).backward();
  CHECK(is_kept);
  const auto block = checkpoint([](const auto& v) { return silu(v) * v; }, input * 1);
  bool is_kept_by_block = false;
  const auto of_block =
      block.on_gradient([&](const auto& gradient) { is_kept_by_block = gradient.is_channels_last(); });
  sum(square(max_pool2d(block, 2))).backward();
  CHECK(is_kept_by_block);
}

LOCUS_DEVICE_TEST("pools of channels-last images break ties, and pass NaN, as of others", D) {
  auto x = floor(numbers<float, D>({2, 5, 9, 8}, 4) * 2).eval();
  x.select(0, 0).select(0, 1).slice(0, 3, 5).fill_(std::numeric_limits<float>::quiet_NaN());
  const auto input = variable(x), turned = variable(x.channels_last());
  const auto y = max_pool2d(input, 3, 2, 1), z = max_pool2d(turned, 3, 2, 1);
  const auto g = numbers<float, D>(y.shape(), 9);
  y.backward(g);
  z.backward(g);
  const CloseOptions same{.relative = 1e-6, .absolute = 1e-6, .equal_nan = true};
  CHECK(allclose(z.value(), y.value(), same));
  CHECK(allclose(turned.grad(), input.grad(), same));
}

LOCUS_DEVICE_TEST("a residual network keeps channels-last from its first convolution to its pool", D) {
  nn::Conv2d<float, D> first{3, 16, 3, {.padding = 1, .bias = false}}, second{16, 16, 3, {.padding = 1, .bias = false}};
  nn::BatchNorm2d<float, D> norm{16}, other{16};
  const auto x = trace(numbers<float, D>({4, 3, 12, 12}, 1).channels_last());
  const auto a = norm(first(x));
  const auto b = (relu(other(second(a))) + a).eval();
  CHECK((a.value().is_channels_last() && b.value().is_channels_last()));
  const auto features = adaptive_avg_pool2d(b, 1).flatten(1);
  CHECK(features.value().is_contiguous());
}
