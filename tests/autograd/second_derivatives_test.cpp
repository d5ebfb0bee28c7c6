// Runs on: host; alone.
// Gradients of gradients: random programs against PyTorch (golden/second_derivatives.txt, which
// make_second_derivatives.py writes), penalties on gradients, an inner step, and the graphs that are refused.
#define LOCUS_DOUBLE_BACKWARD 1

#include <locus/autograd/checkpoint.hpp>
#include <locus/autograd/forward_mode.hpp>
#include <locus/expr/activations.hpp>
#include <locus/expr/elementwise.hpp>
#include <locus/expr/functions.hpp>
#include <locus/fft/fft.hpp>
#include <locus/nn/activation.hpp>
#include <locus/nn/ctc_loss.hpp>
#include <locus/nn/linear.hpp>
#include <locus/nn/loss.hpp>
#include <locus/nn/packed_sequence.hpp>
#include <locus/nn/recurrent.hpp>
#include <locus/nn/sequential.hpp>
#include <locus/ops/alpha_dropout.hpp>
#include <locus/ops/batch_norm.hpp>
#include <locus/ops/conv.hpp>
#include <locus/ops/cumulative.hpp>
#include <locus/ops/dropout.hpp>
#include <locus/ops/embedding_bag.hpp>
#include <locus/ops/extreme.hpp>
#include <locus/ops/grid_sample.hpp>
#include <locus/ops/index.hpp>
#include <locus/ops/join.hpp>
#include <locus/ops/layer_norm.hpp>
#include <locus/ops/moments.hpp>
#include <locus/ops/norm.hpp>
#include <locus/ops/pad.hpp>
#include <locus/ops/pool.hpp>
#include <locus/ops/pool_indices.hpp>
#include <locus/ops/scan.hpp>
#include <locus/ops/scatter.hpp>
#include <locus/ops/softmax.hpp>
#include <locus/ops/sort.hpp>

#ifndef LOCUS_TEST_DEVICES
#define LOCUS_TEST_DEVICES locus_test::Counting
#endif
#include <support/device_list.hpp>
#include <support/golden_programs.hpp>
#include <support/thrown.hpp>

#include <array>
#include <tuple>

namespace {
using namespace locus;
using namespace locus_test;
using namespace locus_test::programs;

Value positive(const Value& x) { return x * x + 0.5; }

const Steps& operations() {
  using G = const Given&;
  static const Steps table{
      {"exp", [](G g) { return Value(exp(g.x())); }},
      {"tanh", [](G g) { return Value(tanh(g.x())); }},
      {"sigmoid", [](G g) { return Value(sigmoid(g.x())); }},
      {"gelu", [](G g) { return Value(gelu(g.x())); }},
      {"log", [](G g) { return Value(log(positive(g.x()))); }},
      {"sqrt", [](G g) { return Value(sqrt(positive(g.x()))); }},
      {"relu", [](G g) { return Value(relu(g.x())); }},
      {"multiply", [](G g) { return Value(g.x() * g.y() / 2); }},
      {"divide", [](G g) { return Value(g.x() / positive(g.y())); }},
      {"power", [](G g) { return Value(pow(positive(g.x()), g.y() / 4)); }},
      {"maximum", [](G g) { return Value(maximum(g.x(), g.y())); }},
      {"where", [](G g) { return Value(where(g.x().value() > 0, g.x(), g.y())); }},
      {"pending", [](G g) { return Value(tanh(g.x() * g.y() / 2) * (g.x() - g.y()) / 2); }},
      {"clamp", [](G g) { return Value(clamp(g.x(), g.a[0], g.a[1])); }},
      {"sum", [](G g) { return Value(sum(g.x(), g.axes(1), g.flag(0)) / 2); }},
      {"mean", [](G g) { return mean(g.x(), g.axes(1), g.flag(0)); }},
      {"prod", [](G g) { return prod(g.x(), g.axes(1), g.flag(0)); }},
      {"max", [](G g) { return max(g.x(), g.axes(1), g.flag(0)); }},
      {"norm2", [](G g) { return norm(g.x(), 2, g.axes(1), g.flag(0)); }},
      {"var", [](G g) { return var(g.x(), g.axes(2), {.correction = g.a[0], .keepdim = g.flag(1)}); }},
      {"softmax", [](G g) { return softmax(g.x(), g.i(0)); }},
      {"log_softmax", [](G g) { return log_softmax(g.x(), g.i(0)); }},
      {"logsumexp", [](G g) { return logsumexp(g.x(), g.i(0)); }},
      {"cumsum", [](G g) { return Value(cumsum(g.x(), g.i(0)) / 4); }},
      {"reshape", [](G g) { return reshape(g.x(), g.shape(0, 2)); }},
      {"transpose", [](G g) { return transpose(g.x(), g.i(0), g.i(1)); }},
      {"permute", [](G g) { return permute(g.x(), g.axes(0)); }},
      {"expand", [](G g) { return expand(g.x(), g.shape(0, g.a.size())); }},
      {"select", [](G g) { return select(g.x(), g.i(0), g.i(1)); }},
      {"slice", [](G g) { return slice(g.x(), g.i(0), g.i(1), g.i(2), g.i(3)); }},
      {"concat", [](G g) { return concat(g.v, g.i(0)); }},
      {"pad",
       [](G g) {
         constexpr std::array modes{PadMode::constant, PadMode::reflect, PadMode::replicate, PadMode::circular};
         return pad(g.x(), {g.i(0), g.i(1)}, modes[static_cast<std::size_t>(g.i(2))]);
       }},
      {"index_select", [](G g) { return index_select(g.x(), g.i(0), g.indices(1)); }},
      {"gather", [](G g) { return gather(g.x(), g.i(0), g.indices(1).reshape(g.x().shape())); }},
      {"scatter_add", [](G g) { return scatter_add(g.x(), g.i(0), g.indices(1).reshape(g.x().shape()), g.y()); }},
      {"sort", [](G g) { return sort(g.x(), g.i(0)).values; }},
      {"matmul", [](G g) { return Value(matmul(g.x(), g.y()) / 4); }},
      {"linear", [](G g) { return linear(g.x(), g.y(), full<double>({g.y().shape()[0]}, 0.25), functor::Tanh{}); }},
      {"layer_norm", [](G g) { return layer_norm(g.x(), {g.x().shape()[-1]}, 0.5); }},
      {"batch_norm",
       [](G g) {
         const std::int64_t channels = g.x().shape()[1];
         const RunningStatistics<double, Cpu> running{zeros<double>({channels}), ones<double>({channels}), {}};
         return batch_norm(g.x(), running, {.eps = 0.5});
       }},
      {"conv2d", [](G g) { return Value(conv2d(g.x(), g.y(), {.stride = g.i(0), .padding = g.i(1)}) / 4); }},
      {"max_pool2d", [](G g) { return max_pool2d(g.x(), 2, g.i(0), 1); }},
      {"avg_pool2d", [](G g) { return avg_pool2d(g.x(), 2, g.i(0), 1); }},
      {"mse_loss", [](G g) { return Value(nn::mse_loss(g.x(), g.y().value(), g.reduction())); }},
      {"cross_entropy", [](G g) { return nn::cross_entropy(g.x(), g.indices(1), {.reduction = g.reduction()}); }},
  };
  return table;
}

TEST_CASE("random programs have PyTorch's gradients of gradients") {
  check_programs(operations(), "second_derivatives.txt", 100);
}

/// The gradient of a weighted sum of squares of f(x), differentiated again, beside differences of gradients.
void check_again(const char* name, const std::function<Value(const Value&)>& f, const Tensor<double>& x) {
  const auto loss = [&](const Value& at) {
    manual_seed(3);
    const Value y = f(at);
    const auto weights = arange<double>(1, static_cast<double>(y.elements() + 1)).reshape(y.shape());
    return sum(y * y * cos(weights));
  };
  const auto gradient = [&](const Tensor<double>& at) {
    const auto leaf = variable(at);
    return Tensor<double>(grad(loss(leaf), leaf));
  };
  const Tensor<double> along = sin(arange<double>(x.elements()).reshape(x.shape()) + 1);
  const auto leaf = variable(x);
  const auto first = grad(loss(leaf), leaf, {.create_graph = true});
  const Tensor<double> second = grad(sum(first * along), leaf);
  constexpr double step = 1e-5;
  const Tensor<double> expected =
      (gradient(Tensor<double>(x + step * along)) - gradient(Tensor<double>(x - step * along))) / (2 * step);
  INFO(name);
  CHECK_CLOSE(first.value(), reference(gradient(x)), 1e-12);
  CHECK_CLOSE(second, reference(expected), 1e-6);
  CHECK(norm(second).item() > 1e-3);
}
#define CHECK_AGAIN(formula, ...) \
  check_again(                    \
      #formula, [&](const Value& x) { return Value((formula).eval()); }, __VA_ARGS__)

TEST_CASE("operations of layers and losses are differentiated again") {
  const auto wave = [](const Shape& shape) {
    return Tensor<double>(sin(arange<double>(elements(shape)).reshape(shape) * 2.7 + 1));
  };
  const auto image = wave({2, 2, 4, 4}), grid = wave({2, 3, 3, 2});
  CHECK_AGAIN(grid_sample(x, grid) + grid_sample(image, Value(sin(grid * sum(x)))), image);
  const auto at = from<std::int64_t>({1, 0, 1, 1}), bags = from<std::int64_t>({0, 1});
  CHECK_AGAIN(embedding_bag(x, at, bags, {.mode = BagMode::max}), wave({2, 3}));
  CHECK_AGAIN(embedding_bag(wave({2, 3}), at, bags, x, {.mode = BagMode::sum}), wave({4}));
  CHECK_AGAIN(max_pool2d_with_indices(x, 2).values, image);
  CHECK_AGAIN(dropout2d(x, 0.5), image);
  CHECK_AGAIN(feature_alpha_dropout(x, 0.5), image);
  CHECK_AGAIN(prod(x, 1), from<double>({{2, 0, 3}, {0, 0, -1}}));
  CHECK_AGAIN(cumprod(x, 1), from<double>({{2, 0, 3}, {0, 0, -1}}));
  const nn::GRU<double, Cpu> gru(3, 4);
  const std::vector<std::int64_t> lengths{3, 2};
  CHECK_AGAIN(nn::pad_packed_sequence(gru(nn::pack_padded_sequence(x, lengths)).output).output, wave({3, 2, 3}));
  const auto letters = from<std::int64_t>({{1, 2}, {1, 1}}), times = from<std::int64_t>({4, 3});
  CHECK_AGAIN(nn::ctc_loss(log_softmax(x, -1), letters, times, from<std::int64_t>({2, 1})), wave({4, 2, 3}));
}

TEST_CASE("linear operations and products of complex numbers have PyTorch's gradients of gradients") {
  using Number = Complex<double>;
  const auto z = variable(from<Number>({Number(1, 3), Number(2, -1)}));
  const auto w = variable(from<Number>({{Number(1, 3), Number(2, -1)}, {Number(0, 2), Number(1, 2)}}));
  const auto parts = [](const auto& of) { return flatten(view_as_real(of), 0).eval(); };
  const auto of_z = grad(sum(square(parts(matmul(w, z)))), z, {.create_graph = true});
  CHECK_CLOSE(parts(of_z).value(), {22, 42, -8, 16});
  CHECK_CLOSE(parts(grad(sum(square(parts(of_z))), w)), {1256, 2856, -1136, 1024, 696, 2440, -784, -176});
  const auto signal = variable(from<double>({1, 2, 3, 5}));
  const auto cubes = [](const auto& of) { return sum(of * of * of); };
  const auto of_signal = grad(cubes(parts(fft::rfft(signal))), signal, {.create_graph = true});
  CHECK_CLOSE(grad(sum(square(of_signal)), signal), {187200, 193608, 188352, 197496});
  const auto round_trip = grad(cubes(fft::irfft(fft::fft(z)).eval()), z, {.create_graph = true});
  CHECK_CLOSE(parts(grad(sum(square(parts(round_trip))), z)), {36, 0, 288, 0});
  const auto refused = message_of<GraphError>([&] { (void)grad(sum(abs(z)), z, {.create_graph = true}); });
  CHECK(contains(refused, "an expression of complex numbers, whose gradients are not recorded"));
}

TEST_CASE("duals are recorded, and differentiated again") {
  const auto x = from<double>({1, 2}), v = from<double>({1, 0});
  CHECK_CLOSE(hvp([](const auto& of) { return sum(of * of * of); }, x, v).product, {6, 0});
  const auto duals = variable(make_dual(x, v));
  const auto first = grad(sum(duals * duals * duals), duals, {.create_graph = true});  // 3 x^2
  CHECK_CLOSE(tangent(grad(sum(first), duals)).eval(), {6, 0});
  const auto number = variable(x);  // beside duals: sum(tangent(c^2 d^2)) = sum(2 c^2 x v)
  const auto slope =
      grad(sum(tangent(number * number * make_dual(x, v) * make_dual(x, v))), number, {.create_graph = true});
  CHECK_CLOSE(grad(sum(slope), number), {4, 0});
  const auto direction = variable(v);  // sum(tangent(exp(c^2 + t e))) = sum(t exp(c^2))
  const auto mixed = grad(sum(tangent(exp(make_dual(number * number, direction)))), number, {.create_graph = true});
  CHECK_CLOSE(grad(sum(mixed), direction), reference(Tensor<double>(2 * x * exp(x * x))));
}

TEST_CASE("a penalty on the gradient of a model trains its parameters") {
  manual_seed(5);
  const nn::Sequential<double, Cpu> critic{nn::Linear<double, Cpu>{3, 8}, nn::Tanh{}, nn::Linear<double, Cpu>{8, 1}};
  const auto real = randn<double>({5, 3});
  const auto plain = [&] {
    const auto x = variable(real);
    const Tensor<double> g = grad(sum(critic(x)), x);
    return mean(square(sqrt(sum(square(g), 1)) - 1)).item();
  };
  const auto x = variable(real);
  const auto g = grad(sum(critic(x)), x, {.create_graph = true});
  const Value penalty = mean(square(sqrt(sum(square(g), 1)) - 1));
  CHECK(penalty.item() == doctest::Approx(plain()).epsilon(1e-12));
  penalty.backward();
  for (const auto& w : critic.parameters()) {
    if (!w.has_grad()) continue;  // the gradient by x does not depend on the last bias
    for (const std::int64_t i : {std::int64_t{0}, w.elements() - 1}) {
      double& element = w.value().data()[i];
      const double before = element, step = 1e-5;
      element = before + step;
      const double above = plain();
      element = before - step;
      const double below = plain();
      element = before;
      CHECK(w.grad().data()[i] == doctest::Approx((above - below) / (2 * step)).epsilon(1e-6));
    }
  }
  CHECK(critic.parameters()[0].has_grad());
  CHECK_FALSE(critic.parameters()[3].has_grad());
}

/// The gradients of the squared gradient of a small network by its image and its weights.
template <class D>
std::vector<Tensor<double, Cpu>> second_derivatives_on(D device) {
  const auto on = [&](const Shape& shape, double from) {
    return variable((arange<double>(from, from + static_cast<double>(elements(shape))).reshape(shape) * 0.37)
                        .template to<D>(device));
  };
  const auto x = on({2, 2, 4, 4}, 1), k = on({3, 2, 2, 2}, 5), w = on({5, 27}, 2);
  const auto features = flatten(tanh(conv2d(sin(x).eval(), cos(k).eval()) / 4).eval(), 1);
  const auto scores = softmax(matmul(features, sin(w).eval().transpose()), 1);
  const auto loss = sum(square(scores));
  const auto [gx, gk, gw] = grad(loss, std::tie(x, k, w), {.create_graph = true});
  const auto penalty = (sum(square(gx)) + sum(square(gk)) + sum(square(gw))).eval();
  std::vector<Tensor<double, Cpu>> results;
  for (const auto& h : grad(penalty, std::vector{x, k, w})) results.push_back(h.template to<Cpu>());
  return results;
}

LOCUS_DEVICE_TEST("gradients of gradients are the same on each device", D) {
  const auto found = second_derivatives_on(D{}), expected = second_derivatives_on(Cpu{});
  for (std::size_t i = 0; i < expected.size(); ++i) {
    CHECK(norm(expected[i]).item() > 1e-3);
    CHECK_CLOSE(found[i], reference(expected[i]));
  }
}

TEST_CASE("a step of gradient descent is differentiated, as MAML's inner step") {
  // The loss after a step from w along its gradient 2 (w - a), at the rate r: (w - r 2 (w - a) - b)^2.
  const auto w = variable(from<double>({1, -2})), rate = variable(from<double>({0.1, 0.3}));
  const auto a = from<double>({3, 1}), b = from<double>({0, 5});
  const auto [slope] = grad(sum(square(w - a)), Tuple(w), {.create_graph = true});
  const Value fast = w - rate * slope;
  sum(square(fast - b)).backward();
  for (int i = 0; i < 2; ++i) {
    const double w0 = w.value().data()[i], r = rate.value().data()[i], a0 = a.data()[i], b0 = b.data()[i];
    const double off = 2 * (w0 - r * 2 * (w0 - a0) - b0);
    CHECK(w.grad().data()[i] == doctest::Approx(off * (1 - 2 * r)));
    CHECK(rate.grad().data()[i] == doctest::Approx(-off * 2 * (w0 - a0)));
  }
}

TEST_CASE("a traced cotangent gives the derivative along a direction") {
  const auto x = variable(from<double>({0.5, -1}));
  const auto v = variable(zeros<double>({2}));
  const auto pulled = grad(Value(sin(x) * x), x, {.grad_outputs = v, .create_graph = true});
  const Tensor<double> pushed = grad(pulled, v, {.grad_outputs = from<double>({2, 3})});
  for (int i = 0; i < 2; ++i) {
    const double at = x.value().data()[i];
    CHECK(pushed.data()[i] == doctest::Approx((2 + i) * (std::cos(at) * at + std::sin(at))));
  }
}

TEST_CASE("a view is differentiated again by a view, and an expression in one launch") {
  const auto x = variable(Tensor<double, Counting>(randn<double>({3, 4}).to<Counting>()));
  using On = Traced<double, Counting>;
  const auto cotangent = variable(ones<double, Counting>({2, 4}));
  const auto launches_again = [&](const On& y, const On& seed) {
    const auto g = grad(y, x, {.grad_outputs = seed, .create_graph = true});
    const RequestLog log;
    (void)grad(g, seed, {.grad_outputs = g.value()});
    return log.launches();
  };
  const auto turned = variable(ones<double, Counting>({4, 3}));
  CHECK(launches_again(x.transpose(), turned) == 1);  // the result is a copy
  CHECK(launches_again(x.slice(0, 0, 2), cotangent) == 1);
  CHECK(launches_again(On(sin(x * 2) * x), variable(ones<double, Counting>({3, 4}))) == 1);
  // All gradients of an expression, and of the gradient: one launch.
  const On y = exp(x) * x;
  const auto seed = variable(ones<double, Counting>({3, 4}));
  const auto g = grad(y, x, {.grad_outputs = seed, .create_graph = true});
  const RequestLog log;
  (void)grad(g, std::tie(x, seed), {.grad_outputs = x.value()});
  CHECK(log.launches() == 1);
}

TEST_CASE("random draws are repeated, and running statistics are updated once") {
  manual_seed(11);
  const auto x = variable(ones<double>({40}));
  const Value y = dropout(square(x) * x, 0.5);
  const auto g = grad(sum(y), x, {.create_graph = true});
  const Tensor<double> h = grad(sum(g), x);
  for (int i = 0; i < 40; ++i) CHECK(h.data()[i] == doctest::Approx(6 * y.value().data()[i]));  // 6 x of x^3 = 1

  const RunningStatistics<double, Cpu> running{zeros<double>({2}), ones<double>({2}), zeros<std::int64_t>({})};
  const auto images = variable(randn<double>({6, 2}));
  const Value normalized = batch_norm(images, running);
  const Tensor<double> mean = running.mean.clone();
  const auto slope = grad(sum(normalized * normalized * normalized), images, {.create_graph = true});
  sum(square(slope)).backward();
  CHECK_CLOSE(running.mean, reference(mean));
  CHECK(running.batches.item() == 1);
}

/// Operations of a program: y = x^2, of numbers alone and of duals, too.
struct SquareOnce {
  static constexpr const char* name = "square_once";
  template <class T, class D>
  auto forward(const Tensor<T, D>& x) const {
    return Forwarded{Tensor<T, D>(x * x), Tuple(x)};
  }
  template <class T, class D>
  void backward(const Tuple<Tensor<T, D>>& saved, const Tensor<T, D>& g, Gradient<T, D>& dx) const {
    dx.give(g * get<0>(saved) * 2);
  }
};
struct SquareTwice : SquareOnce {
  static constexpr bool runs_on_duals = true;
};
static_assert(SquareTwice::runs_on_duals);  // nvcc does not count concepts as uses

TEST_CASE("a graph that cannot be recorded is refused before anything is computed") {
  const auto x = variable(from<double>({1, 2, 3}));
  const auto message = [&](const Value& y) {
    return message_of<GraphError>([&] { (void)grad(y, x, {.create_graph = true}); });
  };
  CHECK(contains(message(sum(apply(SquareOnce{}, x))), "the operation square_once, which does not compute with dual"));
  CHECK(contains(message(sum(apply(SquareOnce{}, x))), "runs_on_duals = true"));
  CHECK_CLOSE(grad(sum(grad(sum(apply(SquareTwice{}, x)), x, {.create_graph = true})), x), {2, 2, 2});
  CHECK(contains(message(sum(checkpoint([](const auto& h) { return square(h).eval(); }, x))), "checkpoint"));

  const Value h = square(x);
  {
    const auto hook = h.on_gradient([](const auto&) {});
    CHECK(contains(message(sum(h)), "would call a hook"));
  }
  const auto first = grad(sum(h * x), x, {.create_graph = true});
  const auto third = message_of<GraphError>([&] { (void)grad(sum(first), x, {.create_graph = true}); });
  CHECK(contains(third, "third derivatives are not recorded"));
  CHECK_CLOSE(grad(sum(first), x, {.retain_graph = true}), {6, 12, 18});  // the graph is as it was
  CHECK_CLOSE(grad(sum(first), x), {6, 12, 18});
  CHECK_THROWS_AS((void)grad(sum(first), x), GraphError);  // freed

  const auto stale = grad(sum(x * x * x), x, {.create_graph = true});
  x.value().data()[0] = 5;
  x.value().changed();
  CHECK_THROWS_AS((void)grad(sum(stale), x), StaleError);
  CHECK_FALSE(x.node()->has_gradient());
}

}  // namespace
