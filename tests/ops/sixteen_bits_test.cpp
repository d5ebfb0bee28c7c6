// Runs on: host; alone.
// The promises of docs/mixed-precision.md: operations on 16 bits compute in float, however many terms they add up, and
// round once.

#include <locus/locus.hpp>
#include <locus/ops/cdist.hpp>
#include <locus/ops/einsum.hpp>

#include <golden/golden.hpp>
#include <support/reference.hpp>

#include <doctest/doctest.h>

using namespace locus;
using namespace locus_test;

namespace {
/// Thousands of numbers near 1: a sum in 16 bits would stop at 256, where 1 is half a unit in the last place.
Tensor<bfloat16> near_one(const Shape& shape) {
  Generator<Cpu> numbers{11};
  return (rand<float, Cpu>(shape, numbers) * 0.5f + 0.75f).eval().as<bfloat16>();
}

/// How many roundings the value and the gradient differ by at most; 0: not compared.
struct Roundings {
  double value = 1, gradient = 1;
};
/// f of bfloat16 and of the same numbers in float differ by the rounding of the result. Gradients differ by their own
/// rounding, and by the rounding of the result, or of a product's operand, if they are computed from it.
template <class F>
void check_computes_in_float(const char* name, const Shape& shape, const F& f, const Roundings& most = {}) {
  CAPTURE(std::string(name));
  const auto x = near_one(shape);
  const auto narrow = variable(x);
  const auto wide = variable(x.as<float>());
  const auto result = [&](const auto& of) { return Traced(f(of)); };
  const auto y = result(narrow);
  const auto expected = result(wide);
  const auto close = [&](const Tensor<bfloat16>& got, const Tensor<float>& want, double roundings) {
    const Tensor<float> off = abs(got.as<float>() - want), size = abs(want);
    const float scale = max(size).item();
    CAPTURE(scale);
    CHECK(max(off).item() <= static_cast<float>(roundings) * scale / 256);
  };
  close(y.value(), expected.value(), most.value);
  if (most.gradient == 0) return;
  const Tensor<bfloat16> cotangent = near_one(y.shape());
  y.backward(cotangent);
  expected.backward(cotangent.as<float>());
  close(narrow.grad(), wide.grad(), most.gradient);
}
/// w as an operand of x: of its type.
template <class X>
[[nodiscard]] auto like(const X&, const Tensor<bfloat16>& w) {
  return w.as<value_of<X>>();
}
}  // namespace

TEST_CASE("reductions of 16 bits are computed in float") {
  check_computes_in_float("sum", {5000}, [](const auto& x) { return sum(x); });
  check_computes_in_float("sum of an axis", {3000, 3}, [](const auto& x) { return sum(x, 0); });
  check_computes_in_float("mean", {5000}, [](const auto& x) { return mean(x); });
  check_computes_in_float("prod", {40}, [](const auto& x) { return prod(x); }, {.gradient = 2});
  check_computes_in_float("var", {5000}, [](const auto& x) { return var(x); }, {.gradient = 2});
  check_computes_in_float("norm", {5000}, [](const auto& x) { return norm(x); }, {.gradient = 2});
  check_computes_in_float("logsumexp", {3, 2000}, [](const auto& x) { return logsumexp(x, -1); }, {.gradient = 9});
  check_computes_in_float("cumsum", {2, 3000}, [](const auto& x) { return cumsum(x, 1); });
  check_computes_in_float("avg_pool2d", {1, 2, 40, 40}, [](const auto& x) { return avg_pool2d(x, 40); });
}

TEST_CASE("products of 16 bits are summed in float") {
  const auto w = near_one({3000, 3}), columns = near_one({3, 3000}), filter = near_one({2, 60, 5, 5});
  check_computes_in_float("matmul", {4, 3000}, [&](const auto& x) { return matmul(x, like(x, w)); });
  check_computes_in_float("linear", {4, 3000}, [&](const auto& x) { return linear(x, like(x, columns)); });
  check_computes_in_float("conv2d", {1, 60, 9, 9}, [&](const auto& x) { return conv2d(x, like(x, filter)); });
  check_computes_in_float("einsum", {4, 3000}, [&](const auto& x) { return einsum("ij,jk->ik", x, like(x, w)); });
  check_computes_in_float("cdist", {4, 3000}, [&](const auto& x) { return cdist(x, like(x, columns) * 2); });
}

TEST_CASE("rows of 16 bits are normalized in float") {
  check_computes_in_float("softmax", {3, 2000}, [](const auto& x) { return softmax(x, -1); }, {.gradient = 2});
  check_computes_in_float("log_softmax", {3, 2000}, [](const auto& x) { return log_softmax(x, -1); }, {.gradient = 0});
  check_computes_in_float("layer_norm", {3, 2000}, [](const auto& x) { return layer_norm(x, {2000}); });
  check_computes_in_float("rms_norm", {3, 2000}, [](const auto& x) { return rms_norm(x, {2000}); });
  check_computes_in_float("group_norm", {2, 4, 500}, [](const auto& x) { return group_norm(x, 2); });
  check_computes_in_float("batch_norm", {2000, 3}, [](const auto& x) {
    using T = value_of<decltype(x)>;
    return nn::BatchNorm1d<T, Cpu>{3}(x);
  });
  check_computes_in_float("scaled_dot_product_attention", {1, 1, 300, 16},
                          [](const auto& x) { return scaled_dot_product_attention(x, x, x); }, {2, 2});
}

namespace {
/// Values and gradients of T, over several parts of the batch and with accumulation, agree with float64 up to one
/// rounding, and the rounding of sums in float, by Winograd's transforms, too.
template <class T>
void check_convolves(const char* name, const Shape& images, const Shape& weights, const Conv2dOptions& options) {
  CAPTURE(std::string(name));
  static constexpr double rounding = std::is_same_v<T, half> ? 0x1p-11 : 0x1p-8;
  Generator<Cpu> numbers{7};
  const auto drawn = [&](const Shape& shape) { return randn<float, Cpu>(shape, numbers).eval().template as<T>(); };
  const auto x = drawn(images), w = drawn(weights), b = drawn({weights[0]});
  const auto exact_x = variable(x.template as<double>()), exact_w = variable(w.template as<double>());
  const auto y = conv2d(exact_x, exact_w, b.template as<double>(), options);
  const auto g = drawn(y.shape());
  y.backward(g.template as<double>());

  const auto close = [](const char* pass, const Tensor<T>& got, const Tensor<double>& want) {
    CAPTURE(std::string(pass));
    const Tensor<double> off = abs(got.template as<double>() - want) - abs(want) * rounding;
    CHECK(max(off).item() <= 2e-3);
  };
  const auto volumes = [](const Tensor<T>& of) { return locus::detail::as_volumes(of, true); };
  const locus::detail::ConvPasses<T, Cpu> passes(
      locus::detail::conv2d(options).request.plan(x.shape(), w.shape(), nullptr), Cpu{}, 2 * x.elements() / x.size(0));
  for (const bool adds : {false, true}) {
    const auto value = ones<T>(y.shape()), dx = ones<T>(x.shape()), dw = ones<T>(w.shape());
    passes.forward(volumes(value), adds, volumes(x), volumes(w), b.data());
    passes.input_gradient(volumes(dx), adds, volumes(g), volumes(w), nullptr);
    passes.weight_gradient(dw, adds, volumes(g), volumes(x));
    close("value", value, y.value() + double(adds));
    close("gradient of x", dx, exact_x.grad() + double(adds));
    close("gradient of w", dw, exact_w.grad() + double(adds));
  }
}
}  // namespace

TEST_CASE("convolutions of 16 bits are summed in float, and rounded once") {
  check_convolves<half>("3 x 3", {5, 16, 9, 8}, {24, 16, 3, 3}, {.padding = 1});
  check_convolves<half>("without transforms", {5, 16, 9, 8}, {24, 16, 3, 3}, {.padding = 1, .exact = true});
  check_convolves<half>("strides", {5, 16, 9, 8}, {17, 16, 3, 2}, {.stride = 2});
  check_convolves<half>("one element", {5, 16, 4, 4}, {24, 16, 1, 1}, {});
  check_convolves<half>("few channels", {5, 3, 9, 8}, {4, 3, 5, 5}, {.padding = 2});
  check_convolves<half>("groups", {5, 16, 9, 8}, {16, 1, 3, 3}, {.padding = 1, .groups = 16});
  check_convolves<bfloat16>("bfloat16", {5, 32, 9, 8}, {40, 32, 3, 3}, {.padding = 1});
  check_convolves<bfloat16>("bfloat16, few channels", {5, 16, 9, 8}, {24, 16, 3, 3}, {.padding = 1});
}

namespace {
/// Every 50th column of the gradient of log_softmax, as make_sixteen_bits.py has it of PyTorch; of the numbers as T,
/// with a result in Y.
template <class T, class Y = T>
Tensor<double> gradient_of_log_softmax() {
  constexpr std::int64_t rows = 2, columns = 3000, stride = 50;
  Tensor<double> x({rows, columns}), cotangent({rows, columns}), kept({rows, columns / stride});
  for (std::int64_t i = 0; i < x.elements(); ++i) {
    x.data()[i] = static_cast<double>(i * 37 % 64) / 32 - 1;
    cotangent.data()[i] = static_cast<double>(i * 53 % 128) / 64 - 0.5;
  }
  const auto leaf = variable(x.as<T>());
  log_softmax(leaf.template as<Y>(), 1).backward(cotangent.as<Y>());
  const auto gradient = leaf.grad().template as<double>();
  for (std::int64_t i = 0; i < kept.elements(); ++i) kept.data()[i] = gradient.data()[i * stride];
  return kept;
}
/// The largest difference from float64's.
double error_of(const Tensor<double>& gradient) {
  return max(abs(gradient - golden::tensor<double, Cpu>("log_softmax_float64"))).item();
}
template <class T>
void check_gradient_of_log_softmax(const char* name) {
  CAPTURE(std::string(name));
  const auto ours = gradient_of_log_softmax<T>();
  const double rounding = std::is_same_v<T, half> ? 0x1p-11 : 0x1p-8;  // of numbers from 1 to 2, at most half a step
  CHECK(error_of(ours) <= error_of(golden::tensor<double, Cpu>(name)));
  CHECK(error_of(ours) > rounding);  // the result was rounded, and so is the gradient computed from it
  CHECK(error_of(gradient_of_log_softmax<T, float>()) <= rounding);
}
}  // namespace

TEST_CASE(
    "gradients of log_softmax in 16 bits are no farther from float64 than PyTorch's, by float within a rounding") {
  CHECK(error_of(gradient_of_log_softmax<double>()) < 1e-11);
  check_gradient_of_log_softmax<bfloat16>("log_softmax_bfloat16");
  check_gradient_of_log_softmax<half>("log_softmax_half");
}

TEST_CASE("losses of 16 bits are computed in float") {
  const auto y = zeros<std::int64_t>({600});
  check_computes_in_float("cross_entropy", {600, 5}, [&](const auto& x) { return nn::cross_entropy(x, y); });
  check_computes_in_float("mse_loss", {4000},
                          [&](const auto& x) { return nn::mse_loss(x, like(x, near_one({4000})) * 2); },
                          {.gradient = 2});
  check_computes_in_float("l1_loss", {4000},
                          [&](const auto& x) { return nn::l1_loss(x, like(x, near_one({4000})) * 2); });
}

TEST_CASE("what lookups of 16 bits add up is added in float") {
  const auto same_row = zeros<std::int64_t>({3000});
  check_computes_in_float("index_select", {2, 3}, [&](const auto& x) { return sum(index_select(x, 0, same_row), 0); });
}

namespace {
/// Bytes that stay allocated for the backward pass of a model and its loss, beside the model, its input and the labels.
template <class M, class T>
double bytes_held_for_backward(const M& model, const Tensor<T>& x, const Tensor<std::int64_t>& labels) {
  const std::int64_t before = memory_stats(Cpu{}).allocated_bytes;
  const auto loss = nn::cross_entropy(model(trace(x)).template as<float>(), labels).eval();
  return static_cast<double>(memory_stats(Cpu{}).allocated_bytes - before);
}
/// The bytes that bfloat16 holds, over the bytes of float.
double share_of_bytes_in_bfloat16(const nn::Sequential<float, Cpu>& model, const Shape& shape) {
  const auto x = randn<float>(shape);
  const auto labels = zeros<std::int64_t>({shape[0]});
  const double wide = bytes_held_for_backward(model, x, labels);
  const auto narrow = model.as<bfloat16>();
  return bytes_held_for_backward(narrow, x.as<bfloat16>(), labels) / wide;
}
}  // namespace

TEST_CASE("what the backward pass reads takes half the bytes in bfloat16") {
  using nn::Conv2d, nn::Linear;
  const nn::Sequential<float, Cpu> perceptron{nn::Flatten{}, Linear<float, Cpu>{784, 256},
                                              nn::ReLU{},    Linear<float, Cpu>{256, 256},
                                              nn::ReLU{},    Linear<float, Cpu>{256, 10}};
  CHECK(share_of_bytes_in_bfloat16(perceptron, {128, 1, 28, 28}) == doctest::Approx(0.51).epsilon(0.01));
  const nn::Sequential<float, Cpu> convolutional{Conv2d<float, Cpu>{1, 16, 3, {.padding = 1}},
                                                 nn::BatchNorm2d<float, Cpu>{16},
                                                 nn::ReLU{},
                                                 nn::MaxPool2d{2},
                                                 Conv2d<float, Cpu>{16, 32, 3, {.padding = 1}},
                                                 nn::ReLU{},
                                                 nn::Flatten{},
                                                 Linear<float, Cpu>{32 * 14 * 14, 10}};
  CHECK(share_of_bytes_in_bfloat16(convolutional, {16, 1, 28, 28}) == doctest::Approx(0.5).epsilon(0.01));
}
