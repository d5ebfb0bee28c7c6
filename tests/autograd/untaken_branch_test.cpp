// Runs on: host, cuda (graph).
// A branch that is not taken contributes exactly nothing to a gradient, however steep or undefined it is there.

#include <locus/autograd/expression.hpp>
#include <locus/expr/elementwise.hpp>
#include <locus/nn/activation.hpp>
#include <locus/ops/cross_entropy.hpp>
#include <locus/ops/layer_norm.hpp>
#include <locus/ops/linear.hpp>
#include <locus/ops/moments.hpp>
#include <locus/ops/norm.hpp>
#include <locus/ops/softmax.hpp>
#include <locus/tensor/factory.hpp>

#include <support/device_list.hpp>
#include <support/reference.hpp>

#include <limits>

using namespace locus;
using namespace locus_test;

namespace {

constexpr double infinity = std::numeric_limits<double>::infinity(),
                 not_a_number = std::numeric_limits<double>::quiet_NaN();

/// Checks values of y, a function of x, and gradients of x.
template <class T, class D>
[[gnu::noinline]] void check_traced(const Traced<T, D>& x, const Traced<T, D>& y, const std::vector<double>& values,
                                    const std::vector<double>& slopes) {
  CHECK_CLOSE(y, Reference(values));
  y.backward(ones<T, D>(x.shape()));
  CHECK_CLOSE(x.grad(), Reference(slopes));
}
/// Checks values and gradients of f, applied to a variable, at the given points.
template <class T, class D, class F>
void check_at(const std::vector<double>& points, const F& f, const std::vector<double>& values,
              const std::vector<double>& slopes) {
  const auto x = variable(tensor<T, D>({static_cast<std::int64_t>(points.size())}, points));
  check_traced<T, D>(x, Traced(f(x)), values, slopes);
}

/// A cusp, whose pullback multiplies the adjoint without a check for 0.
struct Cusp {
  template <class T> LOCUS_FN T operator()(T x) const { return math::sqrt(functor::Abs{}(x)); }
  template <class T> LOCUS_FN Pack<T> pullback(T g, T y, T x) const { return {g * functor::Sign{}(x) / (T(2) * y)}; }
};

template <class T, class D>
void check_selections() {
  CAPTURE(dtype_name<T>());
  // fused, and with the steep part as a named expression
  check_at<T, D>({-1, -4}, [](auto& x) { return where(x > 0, sqrt(x), x); }, {-1, -4}, {1, 1});
  check_at<T, D>({-1, -4},
                 [](auto& x) {
                   auto s = sqrt(x);
                   return where(x > 0, s, x);
                 },
                 {-1, -4}, {1, 1});
  check_at<T, D>({16, 0}, [](auto& x) { return where(x == 0, x / 2, sqrt(x) + 1); }, {5, 0}, {0.125, 0.5});
  check_at<T, D>({16, 0},
                 [](auto& x) {
                   auto s = sqrt(x);
                   auto t = s + 1;
                   return where(x == 0, x / 2, t);
                 },
                 {5, 0}, {0.125, 0.5});
  check_at<T, D>({0}, [](auto& x) { return where(x == 0, 0, x * sqrt(x)); }, {0}, {0});
  check_at<T, D>({0},
                 [](auto& x) {
                   auto s = sqrt(x);
                   auto p = x * s;
                   return where(x == 0, 0, p);
                 },
                 {0}, {0});
  check_at<T, D>({0, 2, 3}, [](auto& x) { return where(x > 2, log(x), x * 2); }, {0, 4, 1.0986122886681098},
                 {2, 2, 1. / 3});
  check_at<T, D>({0, 2, 3},
                 [](auto& x) {
                   auto l = log(x);
                   return where(x > 2, l, x * 2);
                 },
                 {0, 4, 1.0986122886681098}, {2, 2, 1. / 3});
  // above the selection
  check_at<T, D>({-1, 0, 4}, [](auto& x) { return sqrt(relu(x)); }, {0, 0, 2}, {0, 0, 0.25});
  check_at<T, D>({-1, 0, 4},
                 [](auto& x) {
                   auto r = relu(x);
                   return sqrt(r);
                 },
                 {0, 0, 2}, {0, 0, 0.25});
  check_at<T, D>({-1, 4}, [](auto& x) { return sqrt(clamp(x, 0, 9)); }, {0, 2}, {0, 0.25});
  check_at<T, D>({-1, 4}, [](auto& x) { return sqrt(maximum(x, 0)); }, {0, 2}, {0, 0.25});
  // below it
  check_at<T, D>({0, 4}, [](auto& x) { return clamp(sqrt(x), 1, 3); }, {1, 2}, {0, 0.25});
  check_at<T, D>({0, 4},
                 [](auto& x) {
                   auto s = sqrt(x);
                   return clamp(s, 1, 3);
                 },
                 {1, 2}, {0, 0.25});
  check_at<T, D>({0, 4}, [](auto& x) { return maximum(sqrt(x), 1); }, {1, 2}, {0, 0.25});
  check_at<T, D>({0, 4},
                 [](auto& x) {
                   auto s = sqrt(x);
                   return maximum(s, 1);
                 },
                 {1, 2}, {0, 0.25});
  check_at<T, D>({0, 4}, [](auto& x) { return minimum(rsqrt(x), 1); }, {1, 0.5}, {0, -0.0625});
  check_at<T, D>({0, 4},
                 [](auto& x) {
                   auto s = rsqrt(x);
                   return minimum(s, 1);
                 },
                 {1, 0.5}, {0, -0.0625});
  check_at<T, D>({0, 4}, [](auto& x) { return relu(sqrt(x) - 1); }, {0, 1}, {0, 0.25});
  check_at<T, D>({0, 4},
                 [](auto& x) {
                   auto s = sqrt(x);
                   return relu(s - 1);
                 },
                 {0, 1}, {0, 0.25});
  // NaN and infinities
  check_at<T, D>({not_a_number, infinity, 2}, [](auto& x) { return where(isfinite(x), tanh(x) * x + x, 0); },
                 {0, 0, 3.9280551601516338}, {0, 0, 2.105329229782146});
  check_at<T, D>({infinity, 0, -2},
                 [](auto& x) {
                   auto e = exp(x) / x;
                   return where(x > -1, 0, e);
                 },
                 {0, 0, -0.067667641618306345}, {0, 0, -0.10150146242745952});
}

}  // namespace

LOCUS_DEVICE_TEST("what a selection leaves out has no gradient", D) {
  if constexpr (all_dtypes<D>) check_selections<double, D>();
  check_selections<float, D>();
}

LOCUS_DEVICE_TEST("nor has it in 16 bits", D) {
  check_at<half, D>({-1, -4}, [](auto& x) { return where(x > 0, sqrt(x), x); }, {-1, -4}, {1, 1});
  check_at<bfloat16, D>({16, 0},
                        [](auto& x) {
                          auto s = sqrt(x);
                          return where(x == 0, x / 2, s + 1);
                        },
                        {5, 0}, {0.125, 0.5});
}

LOCUS_DEVICE_TEST("nor by way of several operands, a constant, another type, or a function of one's own", D) {
  const auto mask = tensor<float, D>({3}, {1, 0, 0}), scale = tensor<float, D>({3}, {2, infinity, not_a_number});
  const auto x = variable(tensor<float, D>({3}, {1, 2, 3}));
  where(mask > 0, x * scale, x).backward(ones<float, D>({3}));
  CHECK_CLOSE(x.grad(), {2, 1, 1});
  check_at<float, D>({4, 0}, [](auto& v) { return where(v > 0, pow(v, 0.5f), 0); }, {2, 0}, {0.25, 0});
  check_at<float, D>({4, 0}, [](auto& v) { return where(v > 0, 1 / v, 0); }, {0.25, 0}, {-0.0625, 0});
  check_at<float, D>({4, 0},
                     [](auto& v) { return where(v > 0, sqrt(v.template as<double>()), 0.0).template as<float>(); },
                     {2, 0}, {0.25, 0});
  check_at<float, D>({4, 0}, [](auto& v) { return where(v > 0, elementwise(Cusp{}, v), 0); }, {2, 0}, {0.25, 0});
  check_at<float, D>({4, 0},
                     [](auto& v) {
                       return fuse(
                           [](auto s) {
                             auto r = sqrt(s);
                             return where(s > 0, r, s * 3.f);
                           },
                           v);
                     },
                     {2, 0}, {0.25, 3});
}

LOCUS_DEVICE_TEST("nor by way of a broadcast operand, whose gradient is a sum", D) {
  const auto x = variable(tensor<float, D>({2, 1}, {0, 4})), y = variable(tensor<float, D>({3}, {-1, 1, 1}));
  where(x * y > 0, sqrt(x * y), y).backward(ones<float, D>({2, 3}));
  CHECK_CLOSE(x.grad(), {{2, 1}, {0, 0.5}});
  CHECK_CLOSE(y.grad(), {2, 2, 2});
}

LOCUS_DEVICE_TEST("nor by way of a norm, a variance or a product", D) {
  const auto x = variable(tensor<float, D>({2, 2}, {3, 4, infinity, not_a_number}));
  const auto keep = tensor<float, D>({2}, {1, 0});
  const auto check = [&](const auto& named, const std::vector<double>& expected) {
    where(keep > 0, named, 0).backward(ones<float, D>({2}));
    CHECK_CLOSE(x.grad(), Reference({2, 2}, expected));
    x.zero_grad();
  };
  check(norm(x, 2, 1), {0.6, 0.8, 0, 0});
  check(norm(x, 1, 1), {1, 1, 0, 0});
  check(norm(x, infinity, 1), {0, 1, 0, 0});
  check(var(x, 1), {-1, 1, 0, 0});
  check(prod(x, 1), {4, 3, 0, 0});
  check(mean(x, 1), {0.5, 0.5, 0, 0});
}

LOCUS_DEVICE_TEST("nor by way of a layer's own activation", D) {
  const auto x = variable(tensor<float, D>({3, 1}, {-1, 0, 4}));
  const auto w = ones<float, D>({1, 1}), b = zeros<float, D>({1});
  sqrt(linear(x, w, b, functor::Relu{})).backward(ones<float, D>({3, 1}));
  CHECK_CLOSE(x.grad(), {{3, 1}, {0, 0, 0.25}});
  x.zero_grad();
  const auto huge = variable(tensor<float, D>({2, 1}, {infinity, 1}));
  const auto hidden = linear(huge, w, b, functor::Gelu{});
  where(hidden < 5, hidden, 0).backward(ones<float, D>({2, 1}));
  CHECK_CLOSE(huge.grad(), {{2, 1}, {0, 1.0833154}}, 1e-5);
}

LOCUS_DEVICE_TEST("nor by way of a row operation, whatever the rows hold that are left out", D) {
  constexpr std::int64_t rows = 40;  // contiguous where the rows are strided
  for (const std::int64_t cols : {4, 40}) {
    CAPTURE(cols);
    const Shape shape{rows, cols};
    Tensor<float, Cpu> good = sample<float, Cpu>(shape, 1), bad = good.clone();
    for (std::int64_t c = 0; c < cols; ++c) {
      bad(0, c) = -static_cast<float>(infinity);  // a completely masked row
      bad(1, c) = c == 2 ? static_cast<float>(not_a_number) : 1;
    }
    std::vector<double> kept(rows, 1);
    kept[0] = kept[1] = 0;
    const auto keep = tensor<float, D>({rows, 1}, kept);
    const auto w = variable(sample<float, D>({cols}, 2)), b = variable(sample<float, D>({cols}, 3));
    const auto cotangent = sample<float, D>(shape, 4);
    const auto check = [&](const auto& f) {
      // The gradients equal the gradients with finite rows.
      const auto x = variable(bad.template to<D>()), y = variable(good.template to<D>());
      where(keep > 0, f(y), 0).backward(cotangent);
      const auto of_weight = w.node()->has_gradient() ? reference(w.grad()) : Reference{};
      const auto of_bias = b.node()->has_gradient() ? reference(b.grad()) : Reference{};
      w.zero_grad(), b.zero_grad();
      where(keep > 0, f(x), 0).backward(cotangent);
      CHECK_CLOSE(x.grad(), reference(y.grad()));
      if (!of_weight.values.empty()) CHECK_CLOSE(w.grad(), of_weight);
      if (!of_bias.values.empty()) CHECK_CLOSE(b.grad(), of_bias);
      w.zero_grad(), b.zero_grad();
    };
    check([](auto& x) { return softmax(x, 1); });
    check([](auto& x) { return log_softmax(x, 1); });
    check([](auto& x) { return softmax(x.transpose(), 0).transpose(); });
    check([](auto& x) { return log_softmax(x.transpose(), 0).transpose(); });
    check([](auto& x) { return logsumexp(x, 1, true).expand({rows, x.size(1)}); });
    check([&](auto& x) { return layer_norm(x, {cols}, w, b); });
    check([&](auto& x) { return rms_norm(x, {cols}, w); });
    check([&](auto& x) { return layer_norm(x, {cols}); });
    const auto labels = Tensor<std::int64_t, D>({rows}).fill_(1);
    check([&](auto& x) {
      const auto losses = cross_entropy(x, labels, {.reduction = Reduction::none});
      return losses.unsqueeze(1).expand({rows, cols});
    });
  }
}

LOCUS_DEVICE_TEST("nor by way of an activation that is chosen at run time, however it is chosen", D) {
  using functor::Activation;
  const auto w = tensor<float, D>({1, 2}, {1, -1}), b = zeros<float, D>({1});
  const auto data = tensor<float, D>({2, 2}, {infinity, infinity, 0.5, 0.25});
  const auto keep = tensor<float, D>({2, 1}, {0, 1});
  for (const auto kind : {Activation::none, Activation::relu, Activation::tanh, Activation::sigmoid}) {
    CAPTURE(static_cast<int>(kind));
    const functor::ChosenActivation activation{kind};
    const auto x = variable(data);
    where(keep > 0, linear(x, w, b, activation), 0).backward(ones<float, D>({2, 1}));
    const double y = activation(0.25), slope = activation.by_output(y);
    CHECK_CLOSE(x.grad(), Reference({2, 2}, {0, 0, slope, -slope}), 1e-6);
  }
  // relu also drops an infinite adjoint.
  const auto x = variable(tensor<float, D>({1, 2}, {1, 2}));
  const auto y = linear(x, w, b, functor::ChosenActivation{Activation::relu});
  sqrt(y).backward(ones<float, D>({1, 1}));
  CHECK_CLOSE(x.grad(), {{1, 2}, {0, 0}});
}
