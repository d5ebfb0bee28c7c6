// linear against PyTorch and finite differences, with its promised launches.

#include <locus/autograd/gradcheck.hpp>
#include <locus/ops/linear.hpp>
#include <locus/ops/reduce.hpp>

#include <golden/golden.hpp>
#include <support/device_list.hpp>
#include <support/reference.hpp>

using namespace locus;
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
template <class D, class F>
Launches launches(const F& f) {
  const auto x = variable(sample<float, D>({6, 4}, 1)), w = variable(sample<float, D>({3, 4}, 2));
  const auto b = variable(sample<float, D>({3}, 3));
  const auto g = sample<float, D>({6, 3}, 4);
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
  const int for_bias = SumsFactors<D> ? 0 : 1;  // or else the product for the weights sums the gradient's rows, too
  const auto identity = launches<D>(functor::Identity{});
  CHECK(identity.forward == 1);
  CHECK(identity.backward == 2 + for_bias);
  const auto relu = launches<D>(functor::Relu{});
  CHECK(relu.forward == 1);
  CHECK(relu.backward == 3 + for_bias);
  const auto gelu = launches<D>(functor::Gelu{});
  CHECK(gelu.forward == 2);
  CHECK(gelu.backward == 3 + for_bias);
  const auto x = sample<float, D>({6, 4}, 1), w = sample<float, D>({3, 4}, 2), b = sample<float, D>({3}, 3);
  LaunchLog plain;
  (void)linear(x, w, b, functor::Gelu{});
  CHECK(plain.launches() == (std::is_same_v<D, Cuda> ? 2 : 1));  // cuBLASLt fuses no gelu of this form
}

LOCUS_DEVICE_TEST("linear computes no gradient that nobody wants", D) {
  const auto w = variable(sample<float, D>({3, 4}, 2));
  const auto y = linear(trace(sample<float, D>({6, 4}, 1)), w, trace(sample<float, D>({3}, 3)), functor::Relu{});
  const auto g = sample<float, D>({6, 3}, 4);
  LaunchLog log;
  y.backward(g);
  CHECK(log.launches() == 2);
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
