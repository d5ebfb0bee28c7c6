// Runs on: host, cuda (training); counting.
#include <locus/nn/bounded_activation.hpp>
#include <locus/nn/linear.hpp>
#include <locus/nn/sequential.hpp>
#include <locus/nn/softmax.hpp>

#include <locus/device/trace/launch_log.hpp>
#include <locus/ops/reduce.hpp>

#ifndef LOCUS_TEST_DEVICES
#define LOCUS_TEST_DEVICES locus_test::Counting
#endif
#include <support/device_list.hpp>
#include <support/launches.hpp>
#include <support/reference.hpp>

#include <algorithm>
#include <cstring>
#include <string>

using namespace locus;
using namespace locus_test;

namespace {

/// A module as a user writes one.
template <Device D>
struct Residual : nn::Layer<Residual<D>, float, D> {
  nn::Linear<float, D> inner;
  Parameter<float, D> scale{tensor<float, D>({1}, {2})};

  explicit Residual(std::int64_t width) : inner(width, width) {}
  auto forward(const auto& x) const { return relu(x + inner(x) * scale); }
  void members(const auto& visit) const {
    visit("inner", inner);
    visit("scale", scale);
  }
};

template <class M>
std::string names_of(const M& model) {
  std::string names;
  for (const auto& [name, parameter] : model.named_parameters()) names += name + " ";
  return names;
}

template <class D>
nn::Sequential<float, D> perceptron() {
  return {nn::Linear<float, D>{6, 5}, nn::ReLU{}, nn::Linear<float, D>{5, 3}};
}

}  // namespace

LOCUS_DEVICE_TEST("Linear has PyTorch's parameters and initial values", D) {
  manual_seed(1);
  const nn::Linear<float, D> layer{100, 50};
  CHECK(layer.weight.shape() == Shape{50, 100});
  CHECK(layer.bias.shape() == Shape{50});
  CHECK(names_of(layer) == "weight bias ");
  for (const auto& parameter : layer.parameters()) {
    const auto values = reference(parameter.value()).values;
    const auto [low, high] = std::minmax_element(values.begin(), values.end());
    CHECK(*low >= -0.1);
    CHECK(*high <= 0.1);
    CHECK(*low < -0.09);
    CHECK(*high > 0.09);
  }
  const nn::Linear<float, D> without_bias{4, 2, false};
  CHECK(names_of(without_bias) == "weight ");
  CHECK(without_bias(sample<float, D>({3, 4})).shape() == Shape{3, 2});
}

LOCUS_DEVICE_TEST("the same seed makes the same layer", D) {
  manual_seed(7);
  const nn::Linear<float, D> a{6, 5};
  manual_seed(7);
  const nn::Linear<float, D> b{6, 5};
  const nn::Linear<float, D> c{6, 5};
  CHECK_CLOSE(a.weight.value(), reference(b.weight.value()), 0);
  CHECK_FALSE(difference(a.weight.value(), reference(c.weight.value()), 1e-3).empty());
}

LOCUS_DEVICE_TEST("Linear computes x W^T + b over any leading dimensions", D) {
  const nn::Linear<double, D> layer{2, 3};
  layer.weight.value().copy_(tensor<double, D>({3, 2}, {1, 2, 3, 4, 5, 6}));
  layer.bias.value().copy_(tensor<double, D>({3}, {10, 20, 30}));
  CHECK_CLOSE(layer(tensor<double, D>({2}, {1, -1})), Reference({3}, {9, 19, 29}));
  CHECK_CLOSE(layer(tensor<double, D>({1, 2, 2}, {1, -1, 0, 1})), Reference({1, 2, 3}, {9, 19, 29, 12, 24, 36}));
  CHECK(layer(Tensor<double, D>({0, 2})).shape() == Shape{0, 3});
  CHECK_THROWS_AS((void)layer(Tensor<double, D>({4, 3})), ShapeError);
  CHECK_THROWS_AS((nn::Linear<float, D>{0, 3}), ArgumentError);
  CHECK_THROWS_AS((nn::Linear<float, D>{3, -1}), ArgumentError);
}

LOCUS_DEVICE_TEST("a linear layer, its activation and the next are two launches, and on Cuda three", D) {
  const auto model = perceptron<D>();
  const auto x = sample<float, D>({4, 6});
  const LaunchLog plain;
  const auto y = model(x);
  const int for_relu = std::is_same_v<D, Cuda> ? 1 : 0;
  check_launches<D>("plain", plain.launches(), 2 + for_relu, 2 * most_of_product);
  CHECK(plain.counts().gemm == 2);
  const LaunchLog traced;
  const auto z = model(trace(x));
  check_launches<D>("traced", traced.launches(), 2 + for_relu, 2 * most_of_product);
  CHECK_CLOSE(z, reference(y));
  const auto hidden = linear(x, model[0].template target<nn::Linear<float, D>>()->weight,
                             model[0].template target<nn::Linear<float, D>>()->bias);
  CHECK_CLOSE(model[2](relu(hidden)), reference(y), 1e-5);
}

LOCUS_DEVICE_TEST("a plain input records nothing, a traced one trains", D) {
  const auto model = perceptron<D>();
  const auto x = sample<float, D>({4, 6});
  static_assert(std::is_same_v<std::remove_cvref_t<decltype(model(x))>, Tensor<float, D>>);
  static_assert(std::is_same_v<std::remove_cvref_t<decltype(model(trace(x)))>, Traced<float, D>>);
  (void)model(x);
  for (const auto& parameter : model.parameters()) CHECK_FALSE(parameter.has_grad());
  sum(model(trace(x))).backward();
  for (const auto& parameter : model.parameters()) CHECK(parameter.has_grad());
  CHECK_CLOSE(model.parameters()[3].grad(), {4, 4, 4});
  model.zero_grad();
  for (const auto& parameter : model.parameters()) CHECK_FALSE(parameter.has_grad());
}

LOCUS_DEVICE_TEST("Sequential names its modules by number, at any depth", D) {
  nn::Sequential<float, D> model{nn::Flatten{}, perceptron<D>(), nn::Tanh{}};
  const nn::Linear<float, D> last{3, 2, false};
  model.push_back(last);  // shared, not copied
  CHECK(model.parameters().back() == last.weight);
  CHECK(names_of(model) == "1.0.weight 1.0.bias 1.2.weight 1.2.bias 3.weight ");
  CHECK(model.size() == 4);
  CHECK(model.children().size() == 4);
  CHECK(model.children()[1].first == "1");
  CHECK(model.children()[1].second.children().size() == 3);
  CHECK(model(sample<float, D>({2, 3, 2})).shape() == Shape{2, 2});
  CHECK_THROWS_AS((void)model[4], IndexError);
  const nn::Sequential<float, D> none;
  CHECK_CLOSE(none(tensor<float, D>({2}, {1, 2})), {1, 2});
  CHECK(none.parameters().empty());
}

LOCUS_DEVICE_TEST("a module of the user's own, alone and inside others", D) {
  const Residual<D> block{4};
  CHECK(names_of(block) == "inner.weight inner.bias scale ");
  CHECK(block.children().size() == 1);
  CHECK(block.children()[0].first == "inner");
  const auto x = sample<float, D>({3, 4});
  const auto expected = relu(x + linear(x, block.inner.weight, block.inner.bias) * 2).eval();
  CHECK_CLOSE(block(x), reference(expected), 1e-5);

  nn::Sequential<float, D> model{block, nn::ReLU{}, block};  // shared
  CHECK(names_of(model) == "0.inner.weight 0.inner.bias 0.scale ");
  sum(model(trace(x))).backward();
  CHECK(block.scale.has_grad());
  CHECK(block.inner.weight.has_grad());
}

LOCUS_DEVICE_TEST("copies of a model share its parameters", D) {
  const auto model = perceptron<D>();
  const auto copy = model;
  const nn::Module<float, D> erased = model;
  for (const auto& parameter : model.parameters()) parameter.value().fill_(0);
  CHECK_CLOSE(copy(sample<float, D>({1, 6})), {{1, 3}, {0, 0, 0}});
  CHECK_CLOSE(erased(sample<float, D>({1, 6})), {{1, 3}, {0, 0, 0}});
  CHECK(erased.parameters().size() == 4);
  CHECK(erased.parameters()[0] == model.parameters()[0]);
}

LOCUS_DEVICE_TEST("activations and layers without parameters on plain and traced tensors, whole or as layers", D) {
  const auto x = tensor<double, D>({2, 1, 2}, {-2, -0.5, 0.5, 2});
  const nn::Sequential<double, D> layers{nn::ReLU{}, nn::Flatten{}};
  CHECK_CLOSE(layers(x), Reference({2, 2}, {0, 0, 0.5, 2}));
  CHECK_CLOSE(nn::LeakyReLU{0.5}(x), {{2, 1, 2}, {-1, -0.25, 0.5, 2}});
  CHECK_CLOSE(nn::Sigmoid{}(x), reference(sigmoid(x)));
  CHECK_CLOSE(nn::Tanh{}(x), reference(tanh(x)));
  CHECK_CLOSE(nn::GELU<>{}(x), reference(gelu(x)));
  CHECK_CLOSE(nn::GELU<GeluForm::exact>{}(x), reference(gelu<GeluForm::exact>(x)));
  CHECK_CLOSE(nn::GELU<GeluForm::tanh>{}(x), reference(gelu<GeluForm::tanh>(x)));
  CHECK_CLOSE(nn::SiLU{}(x), reference(silu(x)));
  CHECK_CLOSE(nn::Softplus{}(x), reference(softplus(x)));
  CHECK_CLOSE(nn::Mish{}(x), reference(mish(x)));
  CHECK_CLOSE(nn::Hardswish{}(x), reference(hardswish(x)));
  CHECK_CLOSE(nn::ELU{0.5}(x), reference(elu(x, 0.5)));
  CHECK_CLOSE(nn::Softmax{-1}(x), reference(softmax(x, -1)));
  CHECK_CLOSE(nn::LogSoftmax{0}(x), reference(log_softmax(x, 0)));
  CHECK(nn::Identity{}(x).buffer() == x.buffer());
  CHECK(nn::Unflatten{2, {1, -1}}(trace(x)).shape() == Shape{2, 1, 1, 2});
  const auto v = variable(x);
  sum(nn::ReLU{}(v)).backward();
  CHECK_CLOSE(v.grad(), {{2, 1, 2}, {0, 0, 1, 1}});
}

namespace {
/// Whether two pending expressions, which are not computed, apply the same function with the same options.
template <class X, class Y>
bool same_function(const X& x, const Y& y) {
  const auto& f = x.part().tree.f;
  return std::is_same_v<X, Y> &&
         (std::is_empty_v<std::decay_t<decltype(f)>> || std::memcmp(&f, &y.part().tree.f, sizeof f) == 0);
}
}  // namespace

TEST_CASE("layers of bounded activations are their functions, with their options") {
  const Tensor<float> x({2, 4});
  CHECK(same_function(nn::SELU{}(x), selu(x)));
  CHECK(same_function(nn::CELU{0.5}(x), celu(x, 0.5)));
  CHECK(same_function(nn::Hardsigmoid{}(x), hardsigmoid(x)));
  CHECK(same_function(nn::Hardtanh{-2, 3}(x), hardtanh(x, -2, 3)));
  CHECK(same_function(nn::ReLU6{}(x), relu6(x)));
  CHECK(same_function(nn::Softsign{}(x), softsign(x)));
  CHECK(same_function(nn::Threshold{1, 2}(x), threshold(x, 1, 2)));
  CHECK(same_function(nn::Softshrink{}(x), softshrink(x, 0.5)));
  CHECK(same_function(nn::Hardshrink{2}(x), hardshrink(x, 2)));
  CHECK(nn::GLU{0}(x).shape() == Shape{1, 4});
  CHECK(nn::GLU{}(x).shape() == Shape{2, 2});
}

namespace {
/// Has non-static members under the names by which layers declare their activations.
struct Choosing : nn::Stateless<Choosing> {
  const functor::Activation activation = functor::Activation::relu;
  bool absorbs(functor::Activation next) const { return next == activation; }
  auto forward(const auto& x) const { return (-1.f * x).eval(); }
};
}  // namespace

TEST_CASE("members that are not static are none that networks ask for") {
  const nn::Module<float, Cpu> net = Choosing{};
  CHECK(net.activation() == functor::Activation::none);
  CHECK_FALSE(net.absorbs(functor::Activation::relu));
  CHECK_CLOSE(net(from({-1, 2})), {1, -2});
}

TEST_CASE("Unflatten refuses sizes that do not fit") {
  const Tensor<float> x({2, 6});
  CHECK(nn::Unflatten{-1, {2, 3}}(x).shape() == Shape{2, 2, 3});
  CHECK_THROWS_WITH_AS((void)unflatten(x, 1, {4, 2}), doctest::Contains("unflatten: shape (6,), which has 6 elements"),
                       ShapeError);
  CHECK_THROWS_AS((void)unflatten(x, 1, {-1, -1}), ShapeError);
  CHECK_THROWS_AS((void)unflatten(x, 1, Shape{}), ShapeError);
  CHECK_THROWS_AS((void)unflatten(x, 2, {6}), IndexError);
}

namespace {
/// Layers in a list.
template <Device D>
struct Tower : nn::Layer<Tower<D>, float, D> {
  std::vector<nn::Linear<float, D>> floors{{4, 4}, {4, 4, false}};
  auto forward(const auto& x) const { return floors[1](floors[0](x)); }
  void members(const auto& visit) const { visit("floors", floors); }
};
}  // namespace

LOCUS_DEVICE_TEST("a list of layers has the parameters of all of them", D) {
  const Tower<D> tower;
  CHECK(names_of(tower) == "floors.0.weight floors.0.bias floors.1.weight ");
  CHECK(tower.children().size() == 2);
  CHECK(nn::Sequential<float, D>{tower}.parameters().size() == 3);
}
