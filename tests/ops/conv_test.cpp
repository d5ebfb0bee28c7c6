// Runs on: host, cuda (windows); alone.
// Convolutions: values and gradients as PyTorch's and as by plain loops, in parts, of views; refusals.

#include <locus/device/trace/launch_log.hpp>
#include <locus/locus.hpp>

#include <support/reference_device.hpp>

#ifndef LOCUS_TEST_DEVICES
#define LOCUS_TEST_DEVICES locus::Cpu, locus_test::Counting, locus_test::ReferenceDevice
#endif
#include <golden/golden.hpp>
#include <support/device_list.hpp>
#include <support/reference.hpp>

#include <limits>
#include <string>

using namespace locus;
using namespace locus_test;

namespace {

/// The windows of x times weights, by plain loops in float64.
Reference convolved(const Reference& x, const Reference& w, const Reference& b, const Conv2dOptions& options) {
  const Shape &images = *x.shape, &weights = *w.shape;
  const std::int64_t stride[] = {options.stride.height, options.stride.width};
  const std::int64_t padding[] = {options.padding.size.height, options.padding.size.width};
  const std::int64_t dilation[] = {options.dilation.height, options.dilation.width};
  Shape shape{images[0], weights[0], 0, 0};
  for (int d = 0; d < 2; ++d)
    shape[d + 2] = (images[d + 2] + 2 * padding[d] - dilation[d] * (weights[d + 2] - 1) - 1) / stride[d] + 1;
  std::vector<double> values;
  for (std::int64_t n = 0; n < shape[0]; ++n)
    for (std::int64_t o = 0; o < shape[1]; ++o)
      for (std::int64_t row = 0; row < shape[2]; ++row)
        for (std::int64_t col = 0; col < shape[3]; ++col) {
          double sum = b.values[static_cast<std::size_t>(o)];
          const std::int64_t first = o / (weights[0] / options.groups) * weights[1];
          for (std::int64_t c = 0; c < weights[1]; ++c)
            for (std::int64_t i = 0; i < weights[2]; ++i)
              for (std::int64_t j = 0; j < weights[3]; ++j) {
                const std::int64_t h = row * stride[0] + i * dilation[0] - padding[0];
                const std::int64_t v = col * stride[1] + j * dilation[1] - padding[1];
                if (h < 0 || v < 0 || h >= images[2] || v >= images[3]) continue;
                const std::int64_t at = ((n * images[1] + first + c) * images[2] + h) * images[3] + v;
                const std::int64_t weight = ((o * weights[1] + c) * weights[2] + i) * weights[3] + j;
                sum += x.values[static_cast<std::size_t>(at)] * w.values[static_cast<std::size_t>(weight)];
              }
          values.push_back(sum);
        }
  return Reference(shape, values);
}

double dot(const Reference& a, const Reference& b) {
  double sum = 0;
  for (std::size_t i = 0; i < a.values.size(); ++i) sum += a.values[i] * b.values[i];
  return sum;
}

/// Whether values equal those by plain loops, and gradients fit a function that is linear in each operand:
/// y . g = x . dx = w . dw + b . db, also if they are added to others.
template <class T, class D>
void check_passes(const Shape& images, const Shape& weights, const Conv2dOptions& options, double allowed) {
  CAPTURE(to_string(images));
  CAPTURE(to_string(weights));
  const auto x = variable(randn<T, D>(images)), w = variable(randn<T, D>(weights)),
             b = variable(randn<T, D>({weights[0]}));
  const auto y = conv2d(x, w, b, options);
  const Reference expected = convolved(reference(x), reference(w), reference(b), options);
  CHECK_CLOSE(y, expected, allowed);
  const auto g = randn<T, D>(y.shape());
  y.backward(g, {.retain_graph = true});
  const double whole = dot(expected, reference(g)), from_bias = dot(reference(b), reference(b.grad()));
  const double size = std::sqrt(dot(reference(g), reference(g)) * dot(expected, expected)) + 1;
  CHECK(std::abs(dot(reference(x), reference(x.grad())) + from_bias - whole) < allowed * size);
  CHECK(std::abs(dot(reference(w), reference(w.grad())) + from_bias - whole) < allowed * size);
  const auto dx = x.grad().clone(), dw = w.grad().clone();
  y.backward(g);
  CHECK_CLOSE(x.grad(), reference(dx * T(2.f)), allowed);
  CHECK_CLOSE(w.grad(), reference(dw * T(2.f)), allowed);
}

template <class D>
auto leaf(const std::string& name) {
  return variable(golden::tensor<double, D>(name));
}

}  // namespace

LOCUS_DEVICE_TEST("convolutions and their gradients are PyTorch's", D) {
  const auto check = [](const char* name, const char* input, const char* weights, const auto& convolve) {
    CAPTURE(std::string(name));
    const auto x = leaf<D>(input), w = leaf<D>(weights), b = leaf<D>(weights + std::string("_b"));
    CHECK_GOLDEN(name, convolve(x, w, b), ({"x", "w", "b"}), x, w, b);
  };
  const auto check_2d = [&](const char* name, const char* weights, const Conv2dOptions& options) {
    check(name, "conv_x", weights, [&](auto... operands) { return conv2d(operands..., options); });
  };
  check_2d("conv2d", "conv_w33", {});
  check_2d("conv2d_padded", "conv_w33", {.padding = 1});
  check_2d("conv2d_strided", "conv_w33", {.stride = 2, .padding = 1});
  check_2d("conv2d_pairs", "conv_w23", {.stride = {2, 3}, .padding = {2, 1}, .dilation = {3, 2}});
  check_2d("conv2d_same", "conv_w23", {.padding = "same", .dilation = {1, 2}});
  check_2d("conv2d_wide", "conv_w33", {.padding = 4});
  check_2d("conv2d_pointwise", "conv_w11", {});
  check_2d("conv2d_pointwise_strided", "conv_w11", {.stride = 2});
  check_2d("conv2d_grouped", "conv_grouped", {.padding = 1, .groups = 2});
  check_2d("conv2d_depthwise", "conv_depthwise",
           {.stride = {2, 1}, .padding = {1, 2}, .dilation = {1, 2}, .groups = 4});
  const auto check_1d = [&](const char* name, const char* weights, const Conv1dOptions& options) {
    check(name, "conv_line", weights, [&](auto... operands) { return conv1d(operands..., options); });
  };
  check_1d("conv1d", "conv_w3", {.stride = 2, .padding = 2, .dilation = 2});
  check_1d("conv1d_same", "conv_line_grouped", {.padding = "same", .groups = 2});
  const auto check_transposed = [&](const char* name, const char* weights, const ConvTranspose2dOptions& options) {
    check(name, "convt_x", weights, [&](auto... operands) { return conv_transpose2d(operands..., options); });
  };
  check_transposed("convt", "convt_w33", {});
  check_transposed("convt_strided", "convt_w33", {.stride = 2, .padding = 1, .output_padding = 1});
  check_transposed("convt_pairs", "convt_w23",
                   {.stride = {3, 2}, .padding = {1, 2}, .output_padding = {2, 1}, .dilation = {1, 3}});
  check_transposed("convt_dilated", "convt_w33", {.output_padding = 2, .dilation = 3});
  check_transposed("convt_grouped", "convt_wgrouped", {.stride = 2, .groups = 2});
  check_transposed("convt_pointwise", "convt_w11", {});
}

LOCUS_DEVICE_TEST("values are those of plain loops, gradients those of a bilinear function", D) {
  manual_seed(27);
  check_passes<float, D>({1, 3, 5, 5}, {4, 3, 3, 3}, {.padding = 1}, 1e-5);
  check_passes<float, D>({3, 6, 9, 4}, {6, 2, 3, 1}, {.stride = {3, 1}, .padding = {1, 0}, .groups = 3}, 1e-5);
  check_passes<float, D>({2, 10, 6, 7}, {20, 5, 2, 3}, {.padding = {0, 2}, .dilation = {2, 1}, .groups = 2}, 1e-5);
  check_passes<float, D>({2, 5, 8, 8}, {10, 1, 3, 3}, {.padding = 1, .groups = 5}, 1e-5);
  check_passes<float, D>({2, 12, 4, 4}, {7, 12, 1, 1}, {}, 1e-5);
  check_passes<float, D>({1, 1, 1, 1}, {1, 1, 1, 1}, {.padding = 2}, 1e-5);
  check_passes<double, D>({2, 3, 4, 6}, {2, 3, 4, 6}, {}, 1e-12);
}

LOCUS_DEVICE_TEST("parts of columns give what all of them at once do", D) {
  const auto check = [](const Shape& images, const Shape& weights, const Conv2dOptions& options, std::int64_t most) {
    const auto x = randn<float, D>(images), w = randn<float, D>(weights), b = randn<float, D>({weights[0]}),
               c = randn<float, D>({images[1]});
    const auto request = locus::detail::conv2d(options).request;
    const ConvShape shape = request.plan(images, weights, nullptr);
    const auto g = randn<float, D>(request.result(images, shape));
    const auto passes = [&](const locus::detail::ConvPasses<float, D>& of) {
      const Tensor<float, D> y(g.shape()), dx(images), dw(weights);
      const auto volumes = [](const auto& tensor) { return locus::detail::as_volumes(tensor, true); };
      for (const bool adds : {false, true}) {
        of.forward(volumes(y), adds, volumes(x), volumes(w), b.data());
        of.input_gradient(volumes(dx), adds, volumes(g), volumes(w), c.data());
        of.weight_gradient(dw, adds, volumes(g), volumes(x));
      }
      return Tuple(y, dx, dw);
    };
    const auto [y, dx, dw] = passes({shape, x.device(), most});
    const auto [whole_y, whole_dx, whole_dw] = passes({shape, x.device()});
    CHECK_CLOSE(y, reference(whole_y));
    CHECK_CLOSE(dx, reference(whole_dx));
    CHECK_CLOSE(dw, reference(whole_dw), 4e-6);
  };
  check({3, 2, 5, 6}, {2, 2, 3, 2}, {.padding = 1}, 2 * 12 * 35);  // two images, one
  check({3, 2, 5, 6}, {2, 2, 3, 2}, {.padding = 1}, 2 * 12 * 7);   // two rows of windows
  check({3, 2, 5, 6}, {2, 2, 3, 2}, {.padding = 1}, 1);            // as many as the weights: two windows
  check({2, 4, 9, 8}, {10, 2, 2, 3}, {.stride = {3, 2}, .padding = {0, 2}, .dilation = {1, 2}, .groups = 2}, 1);
  check({2, 3, 1, 20}, {1, 3, 1, 2}, {.stride = 3}, 1);  // between two parts lie elements of no window
}

LOCUS_DEVICE_TEST("columns are bounded along each dimension of an image", D) {
  if constexpr (all_dtypes<D> && HostAccessible<D>) {  // elsewhere the bound is too large for a test
    const auto line = ones<double, D>({1, 2, 40000}), image = ones<double, D>({1, 2, 200, 200});
    const auto w = ones<double, D>({1, 2, 9});  // 5.8 MB of columns, of which there are 4 MiB at once
    const LaunchLog of_line;
    CHECK(conv1d(line, w, {.padding = 4}).size(-1) == 40000);
    CHECK(of_line.launches() == 2 * 2);
    const LaunchLog of_image;
    CHECK(conv2d(image, w.reshape({1, 2, 3, 3}), {.padding = 1}).size(2) == 200);
    CHECK(of_image.launches() == 2 * 2);
    check_passes<double, D>({2, 2, 130, 110}, {2, 2, 5, 5}, {.padding = 2}, 1e-11);
  }
  const auto check = [](const ConvShape& shape, std::int64_t most, std::int64_t count) {
    const locus::detail::ConvParts parts(shape, 2, most);
    CHECK(parts.count() == count);
    std::int64_t next = 0, calls = 0;  // windows of all images, in their order
    parts.for_each([&](const locus::detail::ConvPart& part, bool is_first) {
      CHECK(2 * part.images * part.windows() <= (most < 2 ? 2 : most));
      CHECK(part.images * part.windows() <= parts.most_windows());
      const std::int64_t begin = part.image * shape.outputs() + shape.window(part.first);
      CHECK(begin == next);
      CHECK(is_first == (begin % shape.outputs() == 0));
      next = begin + part.images * part.windows(), ++calls;
      ConvIndex last[3] = {part.end[0] - 1, part.end[1] - 1, part.end[2] - 1};
      CHECK((part.image + part.images - 1) * shape.outputs() + shape.window(last) == next - 1);
    });
    CHECK(next == shape.batch * shape.outputs());
    CHECK(calls == count);
  };
  check({.batch = 5, .axis = {{}, {.outputs = 10}, {.outputs = 10}}}, 400, 3);  // two images, two, one
  check({.batch = 3, .axis = {{}, {.outputs = 7}, {.outputs = 10}}}, 100, 6);   // four rows of windows, three, ...
  check({.batch = 2, .axis = {{}, {}, {.outputs = 10}}}, 12, 4);                // five windows
  check({.batch = 2, .axis = {{}, {.outputs = 3}, {.outputs = 5}}}, 9, 12);     // three windows of a row, two, ...
  check({.batch = 1, .axis = {{}, {}, {.outputs = 3}}}, 1, 3);
  check({.batch = 1, .axis = {{.outputs = 4}, {.outputs = 3}, {.outputs = 5}}}, 60, 2);
}

LOCUS_DEVICE_TEST("gradients of 16-bit weights are added up in float where columns come in parts", D) {
  // Each image is a part of 256 windows. The first one makes a gradient of 256, to which 16 others add less than half a
  // unit in its last place each.
  const auto check = [](auto zero, float small, float expected) {
    using T = decltype(zero);
    const auto x = ones<T, D>({17, 1, 2, 257}), g = ones<T, D>({17, 1, 1, 256}), dw = ones<T, D>({1, 1, 2, 2});
    x.slice(0, 1, 17).fill_(T(small));
    const locus::detail::ConvPasses<T, D> passes(locus::detail::conv2d({}).request.plan(x.shape(), dw.shape(), nullptr),
                                                 x.device(), 256 * 5);  // of 4 taps and a gradient for each window
    const auto images = locus::detail::as_volumes(x, true), gradients = locus::detail::as_volumes(g, true);
    passes.weight_gradient(dw, false, gradients, images);
    CHECK_CLOSE(dw, Reference({1, 1, 2, 2}, std::vector<double>(4, expected)), 0);
    passes.weight_gradient(dw, true, gradients, images);
    CHECK_CLOSE(dw, Reference({1, 1, 2, 2}, std::vector<double>(4, 2 * expected)), 0);
  };
  check(float{}, 0x1p-12f, 257);
  if constexpr (all_dtypes<D>) check(half{}, 0x1p-12f, 257), check(bfloat16{}, 0x1p-9f, 264);
}

LOCUS_DEVICE_TEST("gradients agree with finite differences", D) {
  const auto x = randn<double, D>({2, 2, 4, 5}), w = randn<double, D>({2, 2, 3, 2}), b = randn<double, D>({2});
  CHECK(gradcheck([](auto a, auto v, auto c) { return conv2d(a, v, c, {.stride = {1, 2}, .padding = 1}); }, x, w, b));
  CHECK(gradcheck([](auto a, auto v) { return conv_transpose2d(a, v, {.stride = 2, .padding = {1, 0}}); }, x, w));
  CHECK(gradcheck([](auto a, auto v) { return conv1d(a, v, {.padding = "same", .groups = 2}); },
                  randn<double, D>({2, 2, 5}), randn<double, D>({2, 1, 3})));
  CHECK(gradcheck([](auto a, auto v) { return sum(conv2d(a, v) * conv2d(a, v)) + sum(a * 2.0); }, x, w));
}

LOCUS_DEVICE_TEST("option relu gives relu of the result, and its gradients", D) {
  const auto check = [](const auto& x, const Shape& weights, Conv2dOptions options, double allowed = 2e-5) {
    using T = value_of<decltype(x)>;
    CAPTURE(to_string(x.shape()));
    CAPTURE(to_string(weights));
    const auto w = randn<T, D>(weights), b = randn<T, D>({weights[0]});
    const auto g = randn<T, D>(conv2d(x, w, options).shape());
    const auto passes = [&](bool together, bool has_bias) {
      options.relu = together;
      const auto vx = variable(x), vw = variable(w), vb = variable(b);
      const auto use = [&](const auto& y) {
        y.backward(g);
        return std::vector{y.value(), vx.grad(), vw.grad()};
      };
      const auto y = has_bias ? conv2d(vx, vw, vb, options) : conv2d(vx, vw, options);
      auto found = use(together ? y : relu(y).eval());
      if (has_bias) found.push_back(vb.grad());
      return found;
    };
    for (const bool has_bias : {false, true}) {
      const auto together = passes(true, has_bias), apart = passes(false, has_bias);
      for (std::size_t i = 0; i < apart.size(); ++i) CHECK_CLOSE(together[i], reference(apart[i]), allowed);
    }
  };
  const auto x = randn<float, D>({2, 8, 7, 6});
  check(x, {5, 8, 3, 3}, {.padding = 1});
  check(x, {6, 4, 3, 2}, {.stride = 2, .groups = 2});
  check(x, {5, 8, 1, 1}, {});
  check(x, {8, 1, 3, 3}, {.padding = 1, .groups = 8});
  check(x.channels_last(), {5, 8, 3, 3}, {.padding = 1});
  check(x.channels_last(), {5, 8, 1, 1}, {});
  check(x.select(0, 1), {5, 8, 3, 3}, {});
  if constexpr (all_dtypes<D>) {
    check(x.template as<half>(), {5, 8, 3, 3}, {.padding = 1}, 4e-2);
    check(x.template as<bfloat16>(), {5, 8, 3, 3}, {.padding = 1}, 3e-1);
  }
  const auto line = randn<float, D>({2, 3, 9}), w = randn<float, D>({4, 3, 3});
  CHECK_CLOSE(conv1d(line, w, {.relu = true}), reference(relu(conv1d(line, w))));
}

LOCUS_DEVICE_TEST("relu of a convolution keeps NaN", D) {
  const auto x = ones<float, D>({1, 1, 3, 3}), w = full<float, D>({1, 1, 1, 1}, -1.f);
  x.select(2, 1).select(2, 1).fill_(std::numeric_limits<float>::quiet_NaN());
  const Reference y = reference(conv2d(x, w, {.exact = true, .relu = true}));
  for (std::size_t i = 0; i < 9; ++i) CHECK((i == 4 ? std::isnan(y.values[i]) : y.values[i] == 0));
}

LOCUS_DEVICE_TEST("views are convolved as they lie, and images without a batch", D) {
  const auto x = randn<float, D>({2, 7, 6, 3}), w = randn<float, D>({3, 3, 4, 2}), one = randn<float, D>({1, 2, 1, 3});
  const auto check = [](const auto& view, const auto& weights, const Conv2dOptions& options) {
    const auto traced = variable(view), dense = variable(view.contiguous());
    const auto v = variable(weights), dense_v = variable(weights.contiguous());
    const auto y = conv2d(traced, v, options), expected = conv2d(dense, dense_v, options);
    CHECK_CLOSE(y, reference(expected));
    const auto g = randn<float, D>(y.shape()).transpose(2, 3).contiguous().transpose(2, 3);
    y.backward(g), expected.backward(g.contiguous());
    CHECK_CLOSE(traced.grad(), reference(dense.grad()));
    CHECK_CLOSE(v.grad(), reference(dense_v.grad()));
  };
  check(x.permute({0, 3, 1, 2}), w.permute({2, 0, 3, 1}), {.padding = 1});  // channels last
  check(x.permute({0, 3, 1, 2}), one.permute({1, 3, 0, 2}), {});
  check(x.permute({0, 3, 1, 2}), randn<float, D>({6, 1, 3, 3}).transpose(2, 3), {.padding = 1, .groups = 3});
  check(x.slice(2, 0, 6, 2).slice(1, 1, 6), randn<float, D>({2, 5, 2, 2}), {});
  check(x.select(3, 1).unsqueeze(1).expand({2, 3, 7, 6}), w.transpose(0, 1), {.stride = 2});
  const auto image = x.select(0, 1).permute({2, 0, 1});
  CHECK_CLOSE(conv2d(image, w.transpose(0, 1)), reference(conv2d(image.unsqueeze(0), w.transpose(0, 1)).squeeze(0)));
  CHECK_CLOSE(conv1d(x.select(0, 0).select(2, 0), randn<float, D>({1, 7, 6}) * 0.f + 1.f),
              reference(sum(x.select(0, 0).select(2, 0)).reshape({1, 1})));
  const auto given = variable(randn<float, D>({3, 4, 4})), v = variable(randn<float, D>({3, 2, 2, 2}));
  sum(conv_transpose2d(given, v)).backward();
  CHECK(given.grad().shape() == Shape{3, 4, 4});
  CHECK_CLOSE(conv2d(x * 2.f, x), reference(conv2d(x, x) * 2.f));
}

LOCUS_DEVICE_TEST("an empty batch has an empty result and gradients of zeros", D) {
  const auto check = [](const auto& convolve, const Shape& weights, const Shape& expected) {
    const auto x = variable(Tensor<float, D>(Shape{0, 4, 5, 5})), w = variable(randn<float, D>(weights));
    const auto b = variable(randn<float, D>({2}));
    const auto y = convolve(x, w, b);
    CHECK(y.shape() == expected);
    sum(y).backward();
    CHECK(x.grad().shape() == Shape{0, 4, 5, 5});
    CHECK_CLOSE(w.grad(), reference(zeros<float, D>(weights)));
    CHECK_CLOSE(b.grad(), {0, 0});
  };
  check([](const auto&... a) { return conv2d(a..., {.padding = 1}); }, {2, 4, 3, 3}, {0, 2, 5, 5});
  check([](const auto&... a) { return conv2d(a..., {.groups = 2}); }, {2, 2, 1, 1}, {0, 2, 5, 5});
  check([](const auto&... a) { return conv_transpose2d(a..., {.stride = 2}); }, {4, 2, 3, 3}, {0, 2, 11, 11});
  // No channels, no result channels.
  CHECK_CLOSE(conv2d(Tensor<float, D>(Shape{1, 0, 2, 2}), Tensor<float, D>(Shape{1, 0, 1, 1}), ones<float, D>({1})),
              reference(ones<float, D>({1, 1, 2, 2})));
  CHECK(conv2d(zeros<float, D>({1, 2, 3, 3}), Tensor<float, D>(Shape{0, 2, 2, 2})).shape() == Shape{1, 0, 2, 2});
  // Nor any in groups: an output without products is the bias, or 0.
  const Tensor<float, D> none(Shape{0, 1, 3, 3});
  CHECK_CLOSE(conv_transpose2d(Tensor<float, D>(Shape{1, 0, 1, 1}), none, full<float, D>({2}, 5.f),
                               {.padding = 1, .groups = 2}),
              reference(full<float, D>({1, 2, 1, 1}, 5.f)));
  const auto x = variable(ones<float, D>({1, 2, 3, 3}));
  conv2d(x, none, {.groups = 2}).backward(Tensor<float, D>(Shape{1, 0, 1, 1}));
  CHECK_CLOSE(x.grad(), reference(zeros<float, D>({1, 2, 3, 3})));
}

LOCUS_DEVICE_TEST("every floating-point type is convolved", D) {
  const auto check = [](auto zero) {
    using T = decltype(zero);
    const auto x = variable((arange<float, D>(32).reshape({1, 2, 4, 4}) * 0.25f).template as<T>());
    const auto w = variable(ones<T, D>({1, 2, 2, 2}));
    const auto y = conv2d(x, w, {.stride = 2});
    CHECK_CLOSE(y, Reference({1, 1, 2, 2}, {21, 25, 37, 41}));
    sum(y).backward();
    CHECK_CLOSE(x.grad(), reference(ones<float, D>({1, 2, 4, 4})));
    CHECK_CLOSE(w.grad(), Reference({1, 2, 2, 2}, {5, 6, 9, 10, 21, 22, 25, 26}));
  };
  check(float{});
  if constexpr (all_dtypes<D>) check(half{}), check(bfloat16{});
}

LOCUS_DEVICE_TEST("launches are those that the comments promise, on devices without a way of their own", D) {
  if constexpr (!ConvolvingDevice<D, float>) {
    const auto x = variable(randn<float, D>({3, 8, 6, 6}));
    const auto check = [&](const Shape& weights, const Conv2dOptions& options, int forward, int backward) {
      const auto w = variable(randn<float, D>(weights));
      x.zero_grad();
      const LaunchLog value;
      const auto y = conv2d(x, w, options);
      CHECK(value.launches() == forward);
      const auto g = ones<float, D>(y.shape());
      const LaunchLog gradients;
      y.backward(g);
      CHECK(gradients.launches() == backward);
    };
    check({8, 8, 3, 3}, {.padding = 1}, 2, 5);
    check({8, 8, 1, 1}, {}, 1, 4);
    check({8, 1, 3, 3}, {.padding = 1, .groups = 8}, 1, 11);
    // Relu is applied as results are stored, on Cuda by the launch after cuBLASLt's; backward takes a launch for it.
    const int after = std::is_same_v<D, Cuda> ? 1 : 0;
    check({8, 8, 3, 3}, {.padding = 1, .relu = true}, 2 + after, 5 + 1);
    check({8, 8, 1, 1}, {.relu = true}, 1 + after, 4 + 1);
    check({8, 1, 3, 3}, {.padding = 1, .groups = 8, .relu = true}, 1, 11 + 1);
  }
}

template <class Extent, class... N>
concept Pads = requires(N... n) { ConvPadding<Extent>(n...); };
static_assert(Pads<std::int64_t, int> && Pads<Size2d, std::int64_t> && Pads<Size2d, int, long> && Pads<Size2d, Size2d>);
static_assert(!Pads<std::int64_t, double> && !Pads<Size2d, double> && !Pads<Size2d, int, float>);

TEST_CASE("a convolution of 2^64 products is not taken for an empty one") {
  const ConvAxis side{.extent = 8192, .outputs = 8192};
  ConvShape shape{.batch = 1, .in = 64, .out = 64, .axis = {{}, side, side}};
  CHECK(shape.has_products());
  shape.batch = 0;
  CHECK_FALSE(shape.has_products());
}

TEST_CASE("what cannot be convolved is told") {
  const auto x = zeros<float>({1, 4, 5, 6}), w = zeros<float>({2, 4, 3, 3});
  CHECK_THROWS_WITH_AS((void)conv2d(x, zeros<float>({2, 4, 3, 9}), {.padding = 1}),
                       "conv2d: a kernel of 9 dilated by 1 along dimension -1 of an input of shape (1, 4, 5, 6) padded "
                       "by 1 and 1; expected a kernel no larger than the padded input",
                       ShapeError);
  CHECK_THROWS_WITH_AS((void)conv2d(x, w, {.groups = 3}),
                       "conv2d: 3 groups of 4 channels and of weights of shape (2, 4, 3, 3); expected a number that "
                       "divides both, the channels and the weights' first extent",
                       ShapeError);
  CHECK_THROWS_WITH_AS((void)conv2d(x, zeros<float>({2, 3, 3, 3})),
                       "conv2d: an input of shape (1, 4, 5, 6) has 4 channels, weights of shape (2, 3, 3, 3) take 3",
                       ShapeError);
  CHECK_THROWS_WITH_AS((void)conv2d(x, w, {.groups = 2}),
                       "conv2d: an input of shape (1, 4, 5, 6) has 4 channels, weights of shape (2, 4, 3, 3) in 2 "
                       "groups take 8",
                       ShapeError);
  CHECK_THROWS_WITH_AS((void)conv2d(x, w, zeros<float>({3})),
                       "conv2d: bias of shape (3,) with weights of shape (2, 4, 3, 3); expected (2,)", ShapeError);
  CHECK_THROWS_WITH_AS((void)conv2d(zeros<float>({4, 5}), w),
                       "conv2d: an input of shape (4, 5); expected (batch, channels, height, width), or the same "
                       "without the batch",
                       ShapeError);
  CHECK_THROWS_WITH_AS((void)conv1d(zeros<float>({4, 5}), w),
                       "conv1d: weights of shape (2, 4, 3, 3); expected (out, in / groups, length), a kernel of 1 or "
                       "more",
                       ShapeError);
  CHECK_THROWS_AS((void)conv2d(x, zeros<float>({2, 4, 0, 3})), ShapeError);
  CHECK_THROWS_WITH_AS((void)conv2d(x, w, {.stride = {1, 0}}),
                       "conv2d: a stride of (1, 0), a dilation of (1, 1) and 1 groups; expected 1 or more of each",
                       ArgumentError);
  CHECK_THROWS_WITH_AS((void)conv2d(x, w, {.padding = -1}), "conv2d: padding of (-1, -1); expected 0 or more",
                       ArgumentError);
  CHECK_THROWS_WITH_AS((void)conv2d(x, w, {.stride = 2, .padding = "same"}),
                       "conv2d: padding of \"same\" with a stride of (2, 2); expected a stride of 1", ArgumentError);
  CHECK_THROWS_WITH_AS((void)conv1d(zeros<float>({4, 5}), zeros<float>({1, 4, 3}), {.padding = "full"}),
                       "padding of \"full\"; expected \"same\", \"valid\" or numbers", ArgumentError);
  const char* const none = nullptr;
  CHECK_THROWS_AS((void)conv2d(x, w, {.padding = none}), ArgumentError);
  CHECK(conv2d(x, w, {.padding = "valid"}).shape() == Shape{1, 2, 3, 4});
  CHECK_THROWS_WITH_AS((void)conv_transpose2d(x, zeros<float>({4, 2, 3, 3}), {.output_padding = 1}),
                       "conv_transpose2d: output padding of (1, 1) with a stride of (1, 1) and a dilation of (1, 1); "
                       "expected less than one of them",
                       ArgumentError);
  CHECK_THROWS_WITH_AS((void)conv_transpose2d(x, zeros<float>({4, 2, 1, 1}), {.padding = 3}),
                       "conv_transpose2d: an input of shape (1, 4, 5, 6) and a kernel of 1 leave -1 elements along "
                       "dimension -2 with padding of (3, 3); expected elements, and less padding",
                       ShapeError);
  CHECK_THROWS_AS((void)conv_transpose2d(x, w), ShapeError);
  CHECK_THROWS_AS((void)conv2d(x, w, {.padding = INT64_MAX}), ShapeError);
  CHECK_THROWS_AS((void)conv2d(x, w, {.dilation = INT64_MAX}), ShapeError);
  CHECK_THROWS_AS((void)conv_transpose2d(x, zeros<float>({4, 2, 3, 3}), {.stride = INT64_MAX}), ShapeError);
  CHECK_THROWS_AS((void)conv_transpose2d(zeros<float>({4, 0, 3}), zeros<float>({4, 2, 3, 3})), ShapeError);
  CHECK(conv2d(x, w, {.stride = INT64_MAX}).shape() == Shape{1, 2, 1, 1});
}
