// Runs on: host, cuda (products), reference.
// linear against PyTorch and finite differences, with its promised launches.

#include <locus/autograd/gradcheck.hpp>
#include <locus/autograd/parameter.hpp>
#include <locus/cuda/backend.hpp>
#include <locus/ops/linear.hpp>
#include <locus/ops/reduce.hpp>
#include <locus/tensor/factory.hpp>

#include <cmath>
#include <golden/golden.hpp>
#include <limits>
#include <support/device_list.hpp>
#include <support/fused_relu.hpp>
#include <support/launches.hpp>
#include <support/reference.hpp>

using namespace locus;
using locus_test::check_launches;
using locus_test::FusedRelu;
using locus_test::most_of_product;
using locus_test::sample;

namespace {
template <class D, class F>
void check_golden(const std::string& activation, const F& f) {
  const std::string name = "linear_" + activation;
  CAPTURE(name);
  const auto of = [&](const char* input) { return variable(golden::tensor<double, D>(name + input)); };
  const auto x = of("_x"), w = of("_w"), b = of("_b");
  CHECK_GOLDEN(name, linear(x, w, b, f), ({"x", "w", "b"}), x, w, b);
  CHECK_CLOSE(linear(x.value(), w.value(), b.value(), f), golden::reference(name), 1e-10);
}

struct Launches {
  std::int64_t forward, backward;
};
template <class D, class T = float, class F>
Launches launches(const F& f) {
  const auto x = variable(sample<T, D>({6, 4}, 1)), w = variable(sample<T, D>({3, 4}, 2));
  const auto b = variable(sample<T, D>({3}, 3));
  const auto g = sample<T, D>({6, 3}, 4);
  LaunchLog forward;
  const auto y = linear(x, w, b, f);
  const std::int64_t count = forward.launches();
  LaunchLog backward;
  y.backward(g);
  return {count, backward.launches()};
}
}  // namespace

LOCUS_DEVICE_TEST("linear and its gradients agree with PyTorch", D) {
  check_golden<D>("identity", functor::Identity{});
  check_golden<D>("relu", functor::Relu{});
  check_golden<D>("tanh", functor::Tanh{});
  check_golden<D>("sigmoid", functor::Sigmoid{});
  check_golden<D>("gelu", functor::Gelu{});
}

LOCUS_DEVICE_TEST("linear is one launch, and backward as many as promised", D) {
  constexpr bool is_cuda = std::is_same_v<D, Cuda>;
  const int for_bias = SumsFactors<D> ? 0 : 1;  // or else the product for the weights sums the gradient's rows, too
  const auto check = [&](const char* name, const Launches& found, int forward, int backward) {
    CAPTURE(name);
    check_launches<D>("forward", found.forward, forward, most_of_product + 1);
    check_launches<D>("backward", found.backward, backward + for_bias, 2 * most_of_product + 2);
  };
  check("identity", launches<D>(functor::Identity{}), 1, 2);
  check("relu", launches<D>(functor::Relu{}), is_cuda ? 2 : 1, 3);
  check("gelu", launches<D>(functor::Gelu{}), 2, 3);
  check("gelu with tanh", launches<D>(functor::GeluTanh{}), 2, 3);
  check("gelu with tanh, float16", launches<D, half>(functor::GeluTanh{}), KeepsForDerivatives<D> ? 1 : 2, 3);
  {
    const FusedRelu fused;
    check("relu, fused", launches<D>(functor::Relu{}), 1, 3);
  }
  const auto x = sample<float, D>({6, 4}, 1), w = sample<float, D>({3, 4}, 2), b = sample<float, D>({3}, 3);
  LaunchLog plain;
  (void)linear(x, w, b, functor::Gelu{});
  check_launches<D>("gelu, untraced", plain.launches(), is_cuda ? 2 : 1, most_of_product);  // cuBLASLt has none of it
}

LOCUS_DEVICE_TEST("relu after a product keeps NaN, and its slope at 0 is 0", D) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const auto check = [&](auto zero, const auto& f) {
    using T = decltype(zero);
    const auto b = variable(from<T, D>({T(0.f), T(nan), T(3.f), T(-2.f)}));
    const auto y = linear(trace(zeros<T, D>({1, 2})), zeros<T, D>({4, 2}), b, f);
    const auto host = locus_test::host(y.value());
    CHECK(convert<double>(host.data()[0]) == 0);
    CHECK(std::isnan(convert<double>(host.data()[1])));
    CHECK(convert<double>(host.data()[2]) == 3);
    CHECK(convert<double>(host.data()[3]) == 0);
    y.backward(full<T, D>({1, 4}, T(1.f)));
    CHECK_CLOSE(b.grad(), {0, 1, 1, 0}, 0);
    b.zero_grad();
    linear(linear(trace(zeros<T, D>({1, 2})), zeros<T, D>({4, 2}), b, f), full<T, D>({2, 4}, T(1.f)))
        .backward(full<T, D>({1, 2}, T(1.f)));
    CHECK_CLOSE(b.grad(), {0, 2, 2, 0}, 0);
  };
  check(float(), functor::Relu{});
  check(half(), functor::Relu{});
  check(double(), functor::Relu{});
  check(float(), functor::ChosenActivation{functor::Activation::relu});
}

LOCUS_DEVICE_TEST("gelu after a product keeps NaN, in its gradient too", D) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const auto b = variable(from<half, D>({half(0.f), half(nan)}));
  const auto y = linear(trace(zeros<half, D>({1, 2})), zeros<half, D>({2, 2}), b, functor::GeluTanh{});
  linear(y, full<half, D>({2, 2}, half(1.f))).backward(full<half, D>({1, 2}, half(1.f)));
  const auto value = locus_test::host(y.value()), gradient = locus_test::host(b.grad());
  CHECK(convert<double>(value.data()[0]) == 0);
  CHECK(std::isnan(convert<double>(value.data()[1])));
  CHECK(convert<double>(gradient.data()[0]) == 1);
  CHECK(std::isnan(convert<double>(gradient.data()[1])));
}

LOCUS_DEVICE_TEST("linear computes no gradient that nobody wants", D) {
  const auto w = variable(sample<float, D>({3, 4}, 2));
  const auto y = linear(trace(sample<float, D>({6, 4}, 1)), w, trace(sample<float, D>({3}, 3)), functor::Relu{});
  const auto g = sample<float, D>({6, 3}, 4);
  LaunchLog log;
  y.backward(g);
  check_launches<D>("backward for the weights alone", log.launches(), 2, 1 + most_of_product);
}

LOCUS_DEVICE_TEST("the gradient of the bias is the sum of rows, written first and then added to", D) {
  const auto check = [](auto zero, std::int64_t rows, double tolerance) {
    using T = decltype(zero);
    const auto w = variable(sample<T, D>({5, 4}, 2)), b = variable(sample<T, D>({5}, 3));
    const auto x = sample<T, D>({rows, 4}, 1), g = sample<T, D>({rows, 5}, 4);
    const Tensor exact_g = locus_test::host(g).template as<double>(),
                 exact_x = locus_test::host(x).template as<double>();
    const auto back = [&](double w_times, double b_times) {
      linear(trace(x), w, b).backward(g);
      CHECK_CLOSE(b.grad(), locus_test::reference(sum(exact_g, 0) * b_times), tolerance);
      CHECK_CLOSE(w.grad(), locus_test::reference(matmul(exact_g.transpose(), exact_x) * w_times), tolerance);
    };
    back(1, 1);
    back(2, 2);
    b.zero_grad();
    back(3, 1);
    w.zero_grad();
    back(1, 2);
  };
  check(float(), 6, 1e-5);
  check(float(), 0, 0);
  check(double(), 33, 1e-10);
  check(half(), 16, 2e-2);
  const auto b = variable(sample<float, D>({3}, 3)), w = variable(sample<float, D>({3, 2}, 3));
  mean(linear(trace(sample<float, D>({4, 2}, 1)), w, b)).backward();  // one number, repeated
  CHECK_CLOSE(b.grad(), {1. / 3, 1. / 3, 1. / 3}, 1e-6);
}

namespace {
/// Two layers; `between` stands between them.
template <class T, class D>
struct TwoLayers {
  Traced<T, D> w1 = variable(sample<T, D>({5, 4}, 2)), b1 = variable(sample<T, D>({5}, 3));
  Traced<T, D> w2 = variable(sample<T, D>({3, 5}, 4)), b2 = variable(sample<T, D>({3}, 5));
  Tensor<T, D> x = sample<T, D>({7, 4}, 1), g = sample<T, D>({7, 3}, 6);

  template <class F, class Between>
  [[nodiscard]] auto operator()(const F& f, const Between& between) const {
    return linear(between(linear(trace(x), w1, b1, f)), w2, b2);
  }
  /// The launches of a backward pass.
  template <class F, class Between>
  LaunchCounts back(const F& f, const Between& between) const {
    const auto y = (*this)(f, between);
    const LaunchLog log;
    y.backward(g);
    return log.counts();
  }
  [[nodiscard]] std::vector<locus_test::Reference> gradients() const {
    std::vector<locus_test::Reference> all;
    for (const auto* one : {&w1, &b1, &w2, &b2}) all.push_back(locus_test::reference(one->grad()));
    return all;
  }
};
const auto directly = [](const auto& x) { return x; };
const auto as_a_view = [](const auto& x) { return x.reshape(x.shape()); };  // a node between the layers

/// A product that applies the activation's derivative to a gradient agrees with a product and a launch after it.
template <class T, class D, class F>
void check_derivative(const F& f, double tolerance) {
  const TwoLayers<T, D> fused, apart;
  const auto fewer = fused.back(f, directly), more = apart.back(f, as_a_view);
  const bool is_relu = std::is_same_v<F, functor::Relu>, is_gelu_tanh = std::is_same_v<F, functor::GeluTanh>;
  const bool in_cublas = (is_relu && sizeof(T) < 8 && cuda::fused_relu_allowed()) || (is_gelu_tanh && sizeof(T) == 2);
  const bool in_one = KeepsForDerivatives<D> ? in_cublas : locus::detail::DerivedByOutput<F, compute_t<T>>;
  check_launches<D>("maps, with the derivative in a product", fewer.map, in_one ? 0 : 1, 3 * most_of_product - 2);
  check_launches<D>("maps, without", more.map, 1, 3 * most_of_product - 2);
  check_launches<D>("sums for biases", fewer.reduce, SumsFactors<D> && sizeof(T) < 8 ? 0 : 2, 2);
  CHECK(fewer.gemm == 3);
  CHECK(more.gemm == 3);
  const auto found = fused.gradients(), expected = apart.gradients();
  for (std::size_t i = 0; i < found.size(); ++i) {
    for (std::size_t j = 0; j < found[i].values.size(); ++j)
      CHECK(found[i].values[j] == doctest::Approx(expected[i].values[j]).epsilon(tolerance).scale(4));
  }
}

/// The gradients of layers of T against the same layers in float64, where nothing is fused.
template <class T, class D, class F>
void check_against_float64(const F& f, std::int64_t hidden, double tolerance, std::int64_t misaligned = 0,
                           std::int64_t outputs = 3, std::int64_t rows = 7) {
  TwoLayers<T, D> layers;
  layers.w1 = variable(sample<T, D>({hidden, 4}, 2)), layers.b1 = variable(sample<T, D>({hidden}, 3));
  layers.w2 = variable(sample<T, D>({outputs, hidden}, 4)), layers.b2 = variable(sample<T, D>({outputs}, 5));
  layers.x = sample<T, D>({rows, 4}, 1), layers.g = sample<T, D>({rows, outputs}, 6);
  const auto in_double = [](const Tensor<T, D>& x) { return Tensor(locus_test::host(x).template as<double>()); };
  TwoLayers<double, Cpu> exact;
  exact.w1 = variable(in_double(layers.w1.value())), exact.b1 = variable(in_double(layers.b1.value()));
  exact.w2 = variable(in_double(layers.w2.value())), exact.b2 = variable(in_double(layers.b2.value()));
  exact.x = in_double(layers.x), exact.g = in_double(layers.g);
  if (misaligned > 0) {
    const Tensor<T, D> room({hidden + misaligned});
    layers.b1.node()->place_gradient(room.slice(0, misaligned, hidden + misaligned));
  }
  for (const double times : {1., 2.}) {  // written, and then added to
    layers.back(f, directly);
    exact.back(f, as_a_view);
    const auto found = layers.gradients(), expected = exact.gradients();
    for (std::size_t i = 0; i < found.size(); ++i) {
      for (std::size_t j = 0; j < found[i].values.size(); ++j)
        CHECK(found[i].values[j] == doctest::Approx(expected[i].values[j]).epsilon(tolerance * times).scale(4));
    }
  }
}
}  // namespace

LOCUS_DEVICE_TEST("the product for a layer's input applies the derivative of the activation before it", D) {
  check_derivative<float, D>(functor::Relu{}, 1e-6);
  check_derivative<float, D>(functor::Tanh{}, 1e-6);
  check_derivative<float, D>(functor::Sigmoid{}, 1e-6);
  check_derivative<float, D>(functor::ChosenActivation{functor::Activation::tanh}, 1e-6);
  check_derivative<double, D>(functor::Relu{}, 1e-12);
  check_derivative<half, D>(functor::Relu{}, 2e-3);
  {
    const FusedRelu fused;
    check_derivative<float, D>(functor::Relu{}, 1e-6);
    check_derivative<double, D>(functor::Relu{}, 1e-12);
    check_derivative<half, D>(functor::Relu{}, 2e-3);
  }
  check_derivative<bfloat16, D>(functor::Tanh{}, 2e-2);
  check_derivative<float, D>(functor::Gelu{}, 1e-6);
  check_derivative<float, D>(functor::GeluTanh{}, 1e-6);
  check_derivative<half, D>(functor::GeluTanh{}, 2e-3);
  check_derivative<float, D>(functor::LeakyRelu<float>{0.1f}, 1e-6);
  const auto three = [](const auto& x, const auto& w, const auto& b) {
    const auto y = linear(linear(x, w, b, functor::Tanh{}), w, b, functor::Sigmoid{});
    return linear(y, w, b, functor::Tanh{});
  };
  for (const Shape& shape : {Shape{3}, Shape{2, 2, 3}, Shape{0, 3}}) {
    const auto found =
        gradcheck(three, sample<double, D>(shape, 1), sample<double, D>({3, 3}, 2), sample<double, D>({3}, 3));
    CHECK_MESSAGE(found, found.what());
  }
}

LOCUS_DEVICE_TEST("gradients through an activation agree with float64, whatever the product keeps for them", D) {
  const FusedRelu fused;
  for (const std::int64_t hidden : {1, 5, 16, 130}) {  // the kept tensor has rows of a multiple of 8 or 128
    check_against_float64<float, D>(functor::Relu{}, hidden, 4e-6);
    check_against_float64<float, D>(functor::GeluTanh{}, hidden, 4e-6);
    check_against_float64<half, D>(functor::Relu{}, hidden, 4e-3);
    check_against_float64<half, D>(functor::GeluTanh{}, hidden, 4e-3);
    check_against_float64<bfloat16, D>(functor::GeluTanh{}, hidden, 3e-2);
    check_against_float64<float, D>(functor::Relu{}, hidden, 4e-6, 1);  // where no product writes the bias's gradient
  }
}

LOCUS_DEVICE_TEST("gradients of layers of one output, one row or one hidden value agree with float64", D) {
  for (const bool is_fused : {false, true}) {
    const FusedRelu fused(is_fused);
    struct Extents {
      std::int64_t hidden, outputs, rows;
    };
    for (const Extents& layers : {Extents{5, 1, 7}, {16, 1, 1}, {1, 1, 6}, {1, 3, 1}, {8, 2, 1}}) {
      const auto& [hidden, outputs, rows] = layers;
      CAPTURE(layers.hidden);
      CAPTURE(layers.outputs);
      CAPTURE(layers.rows);
      check_against_float64<float, D>(functor::Relu{}, hidden, 4e-6, 0, outputs, rows);
      check_against_float64<half, D>(functor::Relu{}, hidden, 4e-3, 0, outputs, rows);
      check_against_float64<half, D>(functor::GeluTanh{}, hidden, 4e-3, 0, outputs, rows);
      check_against_float64<float, D>(functor::Tanh{}, hidden, 4e-6, 0, outputs, rows);
    }
  }
}

LOCUS_DEVICE_TEST("that derivative is applied once, and only where nothing else adds to the gradient", D) {
  const auto check = [](const auto& f, const auto& after) {
    const auto found =
        gradcheck([&](const auto& x, const auto& w, const auto& b) { return after(linear(x, w, b, f), w, b); },
                  sample<double, D>({4, 3}, 1), sample<double, D>({3, 3}, 2), sample<double, D>({3}, 3));
    CHECK_MESSAGE(found, found.what());
  };
  check(functor::Tanh{}, [](const auto& y, const auto& w, const auto& b) { return linear(y, w, b) + linear(y, w); });
  check(functor::Tanh{}, [](const auto& y, const auto& w, const auto& b) { return linear(y, w, b) * y; });
  check(functor::Sigmoid{}, [](const auto& y, const auto&, const auto& b) { return linear(y, y.slice(0, 0, 3), b); });
  check(functor::Gelu{}, [](const auto& y, const auto& w, const auto& b) { return linear(y, w, b); });
  check(functor::GeluTanh{}, [](const auto& y, const auto& w, const auto& b) { return linear(y, w, b); });
  check(functor::GeluTanh{}, [](const auto& y, const auto& w, const auto&) { return linear(y, w) * y; });
  check(functor::Silu{}, [](const auto& y, const auto& w, const auto& b) { return linear(y, w, b) + b; });
  check(functor::Identity{}, [](const auto& y, const auto& w, const auto& b) { return linear(y, w, b); });

  const TwoLayers<float, D> twice, once;
  once.back(functor::Relu{}, directly);
  const auto y = twice(functor::Relu{}, directly);
  y.backward(twice.g, {.retain_graph = true});
  y.backward(twice.g);
  CHECK_CLOSE(twice.b1.grad(), locus_test::reference(once.b1.grad() * 2.f), 1e-6);
  CHECK_CLOSE(twice.w1.grad(), locus_test::reference(once.w1.grad() * 2.f), 1e-6);

  const TwoLayers<float, D> changed;
  const auto hidden = linear(trace(changed.x), changed.w1, changed.b1, functor::Relu{});
  const auto z = linear(hidden, changed.w2, changed.b2);
  hidden.value().fill_(1);
  CHECK_THROWS_AS(z.backward(changed.g), StaleError);
}

LOCUS_DEVICE_TEST("a layer with one traced operand records, beside parameters alone", D) {
  const Parameter x{sample<double, D>({2, 3}, 1)}, w{sample<double, D>({4, 3}, 2)}, b{sample<double, D>({4}, 3)};
  const auto of = [](const auto& one) { return variable(one.value()); };
  const auto u = of(x), v = of(w), c = of(b);
  const auto g = sample<double, D>({2, 4}, 4);
  linear(u, v, c).backward(g);
  const auto check = [&](const auto& y, const auto& first, const auto& second, const auto& third) {
    CHECK_CLOSE(y, locus_test::reference(linear(u.value(), v.value(), c.value())), 1e-12);
    y.backward(g);
    CHECK_CLOSE(first.grad(), locus_test::reference(u.grad()), 1e-12);
    CHECK_CLOSE(second.grad(), locus_test::reference(v.grad()), 1e-12);
    CHECK_CLOSE(third.grad(), locus_test::reference(c.grad()), 1e-12);
    x.zero_grad(), w.zero_grad(), b.zero_grad();
  };
  const auto weights = of(w), bias = of(b);
  check(linear(x, weights, b), x, weights, b);
  check(linear(x, w, bias), x, w, bias);
}

LOCUS_DEVICE_TEST("gradients of a second use are added", D) {
  const auto f = [](const auto& x, const auto& w, const auto& b) {
    return linear(linear(x, w, b, functor::Tanh{}), w, b, functor::LeakyRelu<double>{0.1});
  };
  const auto found =
      gradcheck(f, sample<double, D>({2, 3}, 1), sample<double, D>({3, 3}, 2), sample<double, D>({3}, 3));
  CHECK_MESSAGE(found, found.what());
}

LOCUS_DEVICE_TEST("linear takes vectors, transposed weights, no bias, and no rows", D) {
  const auto x = sample<float, D>({4}, 1), w = sample<float, D>({4, 3}, 2), b = sample<float, D>({6}, 3);
  const auto bias = b.slice(0, 0, 6, 2);
  const auto y = linear(x, w.transpose(), bias, functor::Relu{});
  CHECK(y.shape() == Shape{3});
  CHECK_CLOSE(y, locus_test::reference(relu(matmul(x, w) + bias)), 1e-5);
  CHECK_CLOSE(linear(x, w.transpose()), locus_test::reference(matmul(x, w)), 1e-5);
  CHECK_CLOSE(linear(x, w.transpose(), functor::Relu{}), locus_test::reference(relu(matmul(x, w))), 1e-5);
  CHECK(linear(Tensor<float, D>({0, 4}), w.transpose(), bias).shape() == Shape{0, 3});
}

LOCUS_DEVICE_TEST("linear names the shapes that do not fit", D) {
  const Tensor<float, D> x({2, 5}), w({3, 4}), b({4});
  CHECK_THROWS_AS((void)linear(x, w), ShapeError);
  CHECK_THROWS_AS((void)linear(Tensor<float, D>({2, 4}), w, b), ShapeError);
  CHECK_THROWS_AS((void)linear(Tensor<float, D>({2, 4}), Tensor<float, D>({4})), ShapeError);
  CHECK_THROWS_AS((void)linear(Tensor<float, D>(Shape{}), w), ShapeError);
  try {
    (void)linear(x, w);
  } catch (const ShapeError& error) {
    CHECK(std::string(error.what()).find("(2, 5)") != std::string::npos);
    CHECK(std::string(error.what()).find("(3, 4)") != std::string::npos);
  }
}
