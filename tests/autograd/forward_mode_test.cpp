// Runs on: host.
// Operations on duals: tangents beside PyTorch's and differences, and second derivatives. derivatives_test.cpp has
// every scalar function, forward_mode_layers_test.cpp layers, lookups and losses.
#include <locus/expr/functions.hpp>
#include <locus/locus.hpp>
#include <locus/nn/forward_mode.hpp>
#include <locus/ops/as_strided.hpp>
#include <locus/ops/cdist.hpp>
#include <locus/ops/cov.hpp>
#include <locus/ops/cross.hpp>
#include <locus/ops/cumulative.hpp>
#include <locus/ops/einsum.hpp>
#include <locus/ops/flip.hpp>
#include <locus/ops/order_statistics.hpp>
#include <locus/ops/sort.hpp>
#include <locus/ops/triangle.hpp>

#include <support/derivative_case.hpp>

using namespace locus;
using locus_test::wave, locus_test::Real, locus_test::Operands, locus_test::Recorded;

namespace {
/// The message of an exception of type E.
template <class E, class F>
std::string message_of(const F& f) {
  try {
    f();
  } catch (const E& error) {
    return error.what();
  }
  return "nothing thrown";
}
Real some(int seed) { return wave({2, 3}, seed); }
Real positive(int seed) { return wave({2, 3}, seed, 0.3, 2.5); }
}  // namespace

TEST_CASE("elementwise functions of duals") {
  LOCUS_GOLDEN_CASE("fused", exp(x) * y + tanh(x * y), some(1), some(2));
  LOCUS_GOLDEN_CASE("divide", x / y, some(1), positive(2));
  LOCUS_GOLDEN_CASE("maximum", maximum(x, y), some(1), some(2));
  LOCUS_GOLDEN_CASE("clamp", clamp(x, -1, 1), some(1));
  LOCUS_GOLDEN_CASE("where", where(x > 0, x * x, y), some(1), some(2));
  LOCUS_GOLDEN_CASE("gelu", gelu(x), some(1));
  LOCUS_GOLDEN_CASE("pow", pow(x, y), positive(2), some(2));
  LOCUS_GOLDEN_CASE("lgamma", lgamma(x), positive(2));
  LOCUS_CASE(glu(x, 0), some(1));
  LOCUS_CASE(2.5 - x / 3, some(1));
}

TEST_CASE("reductions of duals") {
  LOCUS_GOLDEN_CASE("sum", sum(x, 0), some(1));
  LOCUS_GOLDEN_CASE("mean", mean(x, 1), some(1));
  LOCUS_GOLDEN_CASE("prod", prod(x, 0), some(1));
  LOCUS_GOLDEN_CASE("max", max(x, 1), some(1));
  LOCUS_GOLDEN_CASE("var", var(x, 1), some(1));
  LOCUS_GOLDEN_CASE("stddev", stddev(x, 1), some(1));
  LOCUS_GOLDEN_CASE("norm", norm(x), some(1));
  LOCUS_GOLDEN_CASE("norm_3", norm(x, 3, 1), some(1));
  LOCUS_CASE(norm(x, 1, 0), some(1));
  LOCUS_CASE(norm(x, std::numeric_limits<double>::infinity(), 1), some(1));
  LOCUS_GOLDEN_CASE("logsumexp", logsumexp(x, 1), some(1));
  LOCUS_GOLDEN_CASE("softmax", softmax(x, 1), some(1));
  LOCUS_GOLDEN_CASE("log_softmax", log_softmax(x, 0), some(1));
  LOCUS_GOLDEN_CASE("cumsum", cumsum(x, 1), some(1));
  LOCUS_GOLDEN_CASE("cumprod", cumprod(x, 1), some(1));
  LOCUS_GOLDEN_CASE("logcumsumexp", logcumsumexp(x, 1), some(1));
  LOCUS_GOLDEN_CASE("cov", cov(x), some(1));
  LOCUS_CASE(corrcoef(x), some(1));
  LOCUS_CASE(quantile(x, 0.75, 1), some(1));
  const Real with_zeros = from<double>({{2, 0, 3}, {0, 0, -1}});
  LOCUS_CASE(cumprod(x, 1, {.exclusive = true, .reverse = true}), with_zeros);
  LOCUS_CASE(prod(x, 1), with_zeros);
  LOCUS_CASE(logcumsumexp(x, 0, {.exclusive = true, .reverse = true}).slice(0, 0, 1), some(1));
  // The gradient of the running sums is 0; its derivative is not. (PyTorch's second derivative is 0.)
  const Real sums = logcumsumexp(some(1), 1);
  LOCUS_CASE(sum(square(logcumsumexp(x, 1) - sums)), some(1));
}

TEST_CASE("views and parts of duals") {
  LOCUS_GOLDEN_CASE("concat", concat({x, y}, 0), some(1), some(2));
  LOCUS_GOLDEN_CASE("flip", flip(x, 0), some(1));
  LOCUS_GOLDEN_CASE("unfold", x.unfold(1, 2, 1), some(1));
  LOCUS_CASE(x.reshape({3, 2}).transpose() * y.expand({2, 2, 3}), some(1), some(2));
  LOCUS_CASE(x.slice(1, 0, 3, 2).select(0, 1), some(1));
  LOCUS_CASE(diagonal(x), some(1));
  LOCUS_CASE(as_strided(x, {2, 2}, {1, 2}), some(1));
  LOCUS_CASE(tile(x, {2, 2}), some(1));
  LOCUS_CASE(repeat_interleave(x, 2, 0), some(1));
  LOCUS_CASE(pad(x, {1, 1}), some(1));
  LOCUS_CASE(tril(x), some(1));
}

TEST_CASE("products of duals") {
  LOCUS_GOLDEN_CASE("matmul", matmul(x, y), wave({2, 2, 3}, 1), wave({2, 3, 2}, 2));
  LOCUS_GOLDEN_CASE("einsum", einsum("ij,kj->ik", x, y), some(1), some(2));
  LOCUS_GOLDEN_CASE("cdist", cdist(x, y), some(1), some(2));
  LOCUS_GOLDEN_CASE("linear", linear(x, y, z), some(1), wave({4, 3}, 2), wave({4}, 3));
  LOCUS_GOLDEN_CASE("linear_relu", linear(x, y, z, functor::Relu{}), some(1), wave({4, 3}, 2), wave({4}, 3));
  LOCUS_GOLDEN_CASE("linear_gelu", linear(x, y, z, functor::Gelu{}), some(1), wave({4, 3}, 2), wave({4}, 3));
  LOCUS_CASE(cross(x, y), some(1), some(2));
}

TEST_CASE("duals in order of their values") {
  LOCUS_GOLDEN_CASE("sort", sort(x, 1).values, some(1));
  LOCUS_GOLDEN_CASE("topk", topk(x, 2).values, some(1));
}

TEST_CASE("jvp of several inputs and results") {
  const Real x = some(1), v = some(2), w = wave({3, 2}, 3), u = wave({3, 2}, 4);
  const auto f = [](const auto& a, const auto& b) { return Tuple(matmul(a, b), sum(b), argmax(a, 1)); };
  const auto [value, tangent] = jvp(f, Tuple(x, w), Tuple(v, u));
  locus_test::check_all_close("value", get<0>(value), matmul(x, w), 1e-14);
  locus_test::check_all_close("tangent", get<0>(tangent), Real(matmul(v, w) + matmul(x, u)), 1e-14);
  CHECK(get<1>(tangent).item() == doctest::Approx(sum(u).item()));
  CHECK(get<2>(value).data()[0] == argmax(x, 1).data()[0]);  // of int64
  CHECK(sum(abs(get<2>(tangent))).item() == 0);
}

TEST_CASE("vjp is the transposed product, as often as it is called, and leaves parameters alone") {
  const Real x = some(1);
  const nn::Linear<double, Cpu> layer{3, 4};
  const auto at = vjp([&](const auto& of) { return layer(of); }, x);
  const Real cotangent = wave({2, 4}, 3);
  for (int call = 0; call < 2; ++call)
    locus_test::check_all_close("gradient", at.pullback(cotangent), matmul(cotangent, layer.weight.value()), 1e-14);
  CHECK_FALSE(layer.weight.has_grad());
  const auto product = hvp([&](const auto& of) { return sum(square(layer(of))); }, x, some(2)).product;
  const Real expected = 2 * matmul(matmul(some(2), layer.weight.value().transpose()), layer.weight.value());
  locus_test::check_all_close("product", product, expected, 1e-13);
  CHECK_FALSE(layer.weight.has_grad());
}

TEST_CASE("jacobian in both modes, and hessian") {
  const Real x = wave({2, 2}, 1), w = wave({2, 3}, 2);
  const auto f = [&](const auto& of) { return tanh(matmul(of, w)); };
  const auto forward = jacobian_forward(f, x), reverse = jacobian_reverse(f, x);
  CHECK(forward.shape() == Shape{2, 3, 2, 2});
  locus_test::check_all_close("both modes", forward, reverse, 1e-13);
  locus_test::check_all_close("the chosen one", jacobian(f, x), forward, 1e-13);
  const Real second = hessian([](const auto& of) { return sum(of * of * of) + prod(of); }, x);
  CHECK(second.shape() == Shape{2, 2, 2, 2});
  CHECK(second(0, 0, 0, 0) == doctest::Approx(6 * x(0, 0)));
  CHECK(second(0, 0, 1, 1) == doctest::Approx(x(0, 1) * x(1, 0)));
  CHECK(jacobian(f, Real({0, 2})).shape() == Shape{0, 3, 0, 2});
}

TEST_CASE("second derivatives beside PyTorch's, also where factors are zero") {
  const Real ramp = from<double>({0.5, -1, 2, 1.5}), mixed = from<double>({1, 0, -2, 3});
  const Real one_zero = from<double>({2, 0, 3, -1}), two_zeros = from<double>({0, 2, 0, 3});
  LOCUS_HESSIAN_CASE("prod_one_zero", prod(x), one_zero);
  LOCUS_HESSIAN_CASE("prod_two_zeros", prod(x), two_zeros);
  LOCUS_HESSIAN_CASE("prod_three_zeros", prod(x), from<double>({0, 2, 0, 0}));
  LOCUS_HESSIAN_CASE("prod_of_rows", sum(square(prod(x.reshape({2, 2}), 1) * ramp.slice(0, 0, 2))),
                     from<double>({0, 2, 3, 0}));
  LOCUS_HESSIAN_CASE("cumprod_one_zero", sum(cumprod(x, 0) * ramp), one_zero);
  LOCUS_HESSIAN_CASE("cumprod_two_zeros", sum(cumprod(x, 0) * ramp), two_zeros);
  LOCUS_HESSIAN_CASE("power_at_zero", sum(pow(x, 2) + pow(x, 3)), from<double>({0, 1, 0, -2}));
  LOCUS_HESSIAN_CASE("norm", norm(x), mixed);
  LOCUS_HESSIAN_CASE("stddev", stddev(x), mixed);
  LOCUS_HESSIAN_CASE("softmax", sum(softmax(x, 0) * ramp), mixed);
  LOCUS_HESSIAN_CASE("logsumexp", logsumexp(x, 0), mixed);
  LOCUS_HESSIAN_CASE("layer_norm", sum(layer_norm(x, {4}) * ramp), mixed);
  LOCUS_HESSIAN_CASE("products", sum(tanh(matmul(x.reshape({2, 2}), x.reshape({2, 2})))),
                     from<double>({1, 0, -0.5, 0.3}));
  LOCUS_HESSIAN_CASE("gelu", sum(gelu(x)), mixed);
}

TEST_CASE("nested duals have higher derivatives") {
  const Real x = from<double>({0.3, 1.2}), one = ones_like(x);
  const auto first = [&](const auto& of) {
    return jvp([](const auto& at) { return sin(at) * at; }, of, ones_like(of)).tangent;
  };
  const auto second = [&](const auto& of) { return jvp(first, of, ones_like(of)).tangent; };
  const auto third = jvp(second, x, one).tangent;
  locus_test::check_all_close("third derivative", third, Real(-3 * sin(x) - x * cos(x)), 1e-13);
}

TEST_CASE("numbers beside duals are constants, and parameters that see tangents are trained") {
  const Real x = some(1), v = some(2), w = wave({3, 4}, 3);
  const Tensor<bool> mask = x > 0;
  const auto f = [&](const auto& of) {
    return sum(matmul(where(mask, of, x) * x + 2 * of, w)) + sum(concat({of, x.as<value_of<decltype(of)>>()}, 0));
  };
  const auto found = jvp(f, x, v);
  const double step = 1e-6;
  CHECK(found.tangent.item() == doctest::Approx((f(Real(x + step * v)) - f(Real(x - step * v))).item() / (2 * step)));

  const nn::Linear<double, Cpu> a{3, 5}, b{5, 1};
  const auto loss = [&](const auto& of) {
    return mean(square(jvp([&](const auto& at) { return b(tanh(a(at))); }, of, v).tangent));
  };
  const auto traced = [&](const auto& of) { return mean(square(tangent(b(tanh(a(trace(make_dual(of, v)))))))); };
  traced(x).backward();
  const Real gradient = a.weight.grad().clone();
  const Real& weight = a.weight.value();
  for (const std::int64_t i : {0, 7, 14}) {
    const double before = weight.data()[i];
    weight.data()[i] = before + step;
    const double above = loss(x).item();
    weight.data()[i] = before - step;
    const double below = loss(x).item();
    weight.data()[i] = before;
    CHECK(gradient.data()[i] == doctest::Approx((above - below) / (2 * step)));
  }
}

TEST_CASE("forward mode agrees with backward mode where a function has a kink") {
  const Real x = from<double>({0, 0, -1, 2}), v = from<double>({1, -2, 3, 4});
  const auto check = [&](const char* name, const auto& f) {
    const double forward = sum(jvp(f, x, v).tangent).item();
    const double backward = sum(vjp(f, x).pullback(ones_like(x)) * v).item();
    CHECK_MESSAGE(forward == backward, name);
  };
  check("relu", [](const auto& of) { return relu(of); });
  check("abs", [](const auto& of) { return abs(of); });
  check("maximum", [](const auto& of) { return maximum(of, 0); });
  check("hardtanh", [](const auto& of) { return hardtanh(of, -1, 2); });
  check("sqrt", [](const auto& of) { return where(of > 0, sqrt(of), of); });
}

TEST_CASE("derivatives by a model's parameters") {
  nn::Sequential<double, Cpu> model{nn::Linear<double, Cpu>{3, 4}, nn::Tanh{}, nn::Linear<double, Cpu>{4, 1}};
  const Real x = wave({5, 3}, 1), y = wave({5, 1}, 2);
  std::vector<Real> v;
  for (const auto& parameter : model.parameters()) v.push_back(wave(parameter.shape(), static_cast<int>(v.size()) + 3));
  const auto found = hvp([&](const auto& net) { return nn::mse_loss(net(trace(x)), y); }, model, v);
  const auto gradients_at = [&](double offset) {
    std::vector<Real> gradients;
    std::size_t i = 0;
    for (const auto& parameter : model.parameters()) parameter.value() += offset * v[i++];
    nn::mse_loss(model(trace(x)), y).backward();
    i = 0;
    for (const auto& parameter : model.parameters()) {
      gradients.push_back(parameter.grad().clone());
      parameter.zero_grad();
      parameter.value() -= offset * v[i++];
    }
    return gradients;
  };
  const double step = 1e-5;
  const auto here = gradients_at(0), above = gradients_at(step), below = gradients_at(-step);
  double along = 0;
  for (std::size_t i = 0; i < v.size(); ++i) {
    locus_test::check_all_close("gradient", found.gradient[i], here[i], 1e-12);
    locus_test::check_all_close("product", found.product[i], locus_test::slope(above[i], below[i], step), 1e-6);
    along += locus_test::dot(here[i], v[i]);
  }
  CHECK(jvp([&](const auto& net) { return nn::mse_loss(net(x), y); }, model, v).tangent.item() ==
        doctest::Approx(along));
  v.pop_back();
  CHECK(message_of<ArgumentError>([&] {
          (void)jvp([&](const auto& net) { return net(x); }, model, v);
        }).find("jvp: 3 tangents for a model of 4 parameters") == 0);
}

TEST_CASE("errors of derivatives name both shapes") {
  const Real x = some(1), v = wave({3}, 1);
  const auto f = [](const auto& of) { return of * of; };
  CHECK(message_of<ShapeError>([&] { (void)jvp(f, x, v); }) ==
        "jvp: x has shape (2, 3), its tangent v has shape (3,); expected one shape");
  CHECK(message_of<ShapeError>([&] { (void)hvp(f, x, x); }).find("hvp: f returns a tensor of shape (2, 3)") == 0);
  CHECK(message_of<ShapeError>([&] { (void)vjp(f, x).pullback(v); }).find("vjp: a cotangent of shape (3,)") == 0);
  const Real deep({1, 1, 1, 1, 2});
  CHECK(message_of<ShapeError>([&] { (void)jacobian(f, deep); }).find("jacobian_forward: derivatives of a result") ==
        0);
}

TEST_CASE("wide elements are copied at any stride") {
  using J = Dual<Dual<double>>;  // of 32 bytes
  const Real x = wave({40, 30}, 1);
  const auto wide = x.as<J>();
  const Real back = Tensor<J>(wide.transpose().contiguous() + wide.transpose().contiguous()).as<double>();
  locus_test::check_all_close("transposed", back, Real(2 * x.transpose().contiguous()), 0);
  const Tensor<J> sums = sum(wide.transpose(), 0);
  locus_test::check_all_close("sums", sums.as<double>(), sum(x, 1), 1e-13);
}
