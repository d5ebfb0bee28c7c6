// Runs on: host.
// The derivative of every scalar function in the table against central differences, through the evaluator that the
// backward pass of an expression runs in registers, and its first and second derivative by duals.
#include <locus/autograd/expression.hpp>
#include <locus/core/check.hpp>
#include <locus/expr/activations.hpp>
#include <locus/expr/chosen_activation.hpp>
#include <locus/expr/dual.hpp>
#include <locus/expr/functions.hpp>
#include <locus/expr/node.hpp>
#include <locus/expr/operators.hpp>
#include <locus/ops/reduce.hpp>
#include <locus/tensor/from.hpp>

#include <doctest/doctest.h>

#include <cmath>
#include <string>
#include <vector>

using namespace locus;

namespace {

template <class F>
using Unary = Apply<F, Symbol<0>>;
template <class F>
using Binary = Apply<F, Symbol<0>, Symbol<1>>;
template <class F>
using Ternary = Apply<F, Symbol<0>, Symbol<1>, Symbol<2>>;

template <class F, class... X>
using tree_t =
    std::conditional_t<sizeof...(X) == 1, Unary<F>, std::conditional_t<sizeof...(X) == 2, Binary<F>, Ternary<F>>>;

/// The gradients of cotangent * f(x...) by each argument.
template <class F, class... X>
Pack<X...> gradients(const F& f, double cotangent, X... x) {
  using Tree = tree_t<F, X...>;
  constexpr unsigned wanted = (1u << sizeof...(X)) - 1u;
  const Tree tree{f, {}};
  const Pack<X...> inputs(x...);
  const detail::Evaluator<Tree, Pack<X...>, wanted> values(tree, inputs);
  Pack<X...> result{};
  values.back(tree, cotangent, result);
  return result;
}

void check_close(double given, double expected, const std::string& where) {
  INFO(where);
  CHECK(given == doctest::Approx(expected).epsilon(1e-6).scale(1.0));
}

constexpr double step = 1e-6;

/// The derivatives of f by all arguments together, by duals of duals: the first is a tangent, the second the tangent of
/// a tangent.
template <class F, class... X>
void check_duals(const F& f, const std::string& where, X... x) {
  using J = Dual<double>;
  const auto at = [&](double offset) { return detail::applied(f, J(x + offset, 1)...); };
  const J above = at(step), below = at(-step);
  const Dual<J> both = detail::applied(f, Dual<J>(J(x, 1), J(1))...);
  check_close(both.tangent.value, (above.value - below.value) / (2 * step), where + ", tangent");
  check_close(both.value.tangent, both.tangent.value, where + ", both tangents");
  INFO(where, ", tangent of the tangent");
  CHECK(both.tangent.tangent == doctest::Approx((above.tangent - below.tangent) / (2 * step)).epsilon(1e-5).scale(1.0));
}

template <class F>
void check_unary(const char* name, const F& f, const std::vector<double>& points) {
  for (const double x : points) {
    const double slope = (f(x + step) - f(x - step)) / (2 * step);
    check_close(get<0>(gradients(f, -1.5, x)), -1.5 * slope, join(name, " at ", x));
    check_duals(f, join(name, " at ", x), x);
  }
}
template <class F>
void check_binary(const char* name, const F& f, const std::vector<std::pair<double, double>>& points) {
  for (const auto& [x, y] : points) {
    const auto g = gradients(f, 2.5, x, y);
    check_close(get<0>(g), 2.5 * (f(x + step, y) - f(x - step, y)) / (2 * step), join(name, " by x at ", x, ", ", y));
    check_close(get<1>(g), 2.5 * (f(x, y + step) - f(x, y - step)) / (2 * step), join(name, " by y at ", x, ", ", y));
    check_duals(f, join(name, " at ", x, ", ", y), x, y);
  }
}

const std::vector<double> anywhere = {-3.2, -1.1, -0.4, 0.3, 0.9, 2.7};
const std::vector<double> positive = {0.2, 0.7, 1.0, 3.5};
const std::vector<std::pair<double, double>> pairs = {{1.6, 0.5}, {-2.7, 1.25}, {0.75, -2.5}, {-1.2, -0.7}};
const std::vector<std::pair<double, double>> positive_base = {{1.5, 0.5}, {0.5, -1.5}, {2.0, 3.0}, {1.0, 0.0}};

}  // namespace

TEST_CASE("derivatives of arithmetic") {
  check_unary("identity", functor::Identity{}, anywhere);
  check_unary("negation", functor::Negate{}, anywhere);
  check_binary("x + y", functor::Add{}, pairs);
  check_binary("x - y", functor::Subtract{}, pairs);
  check_binary("x * y", functor::Multiply{}, pairs);
  check_binary("x / y", functor::Divide{}, pairs);
  check_binary("x % y", functor::Remainder{}, pairs);
  check_binary("pow", functor::Power{}, positive_base);
}

TEST_CASE("derivatives of powers, exponentials and logarithms") {
  check_unary("exp", functor::Exp{}, anywhere);
  check_unary("expm1", functor::Expm1{}, anywhere);
  check_unary("log", functor::Log{}, positive);
  check_unary("log1p", functor::Log1p{}, positive);
  check_unary("sqrt", functor::Sqrt{}, positive);
  check_unary("rsqrt", functor::Rsqrt{}, positive);
  check_unary("square", functor::Square{}, anywhere);
  check_unary("reciprocal", functor::Reciprocal{}, anywhere);
  check_unary("erf", functor::Erf{}, anywhere);
  check_unary("sin", functor::Sin{}, anywhere);
  check_unary("cos", functor::Cos{}, anywhere);
}

TEST_CASE("derivatives of signs and rounding") {
  check_unary("abs", functor::Abs{}, anywhere);
  check_unary("sign", functor::Sign{}, anywhere);
  check_unary("floor", functor::Floor{}, anywhere);
  check_unary("ceil", functor::Ceil{}, anywhere);
  check_unary("round", functor::Round{}, anywhere);
}

TEST_CASE("derivatives of activations") {
  check_unary("tanh", functor::Tanh{}, anywhere);
  check_unary("sigmoid", functor::Sigmoid{}, anywhere);
  check_unary("relu", functor::Relu{}, anywhere);
  check_unary("leaky_relu", functor::LeakyRelu<double>{0.1}, anywhere);
  check_unary("gelu", functor::Gelu{}, anywhere);
  check_unary("gelu (exact)", functor::GeluExact{}, anywhere);
  check_unary("gelu (tanh)", functor::GeluTanh{}, anywhere);
  check_unary("silu", functor::Silu{}, anywhere);
  check_unary("softplus", functor::Softplus{}, anywhere);
  check_unary("elu", functor::Elu<double>{0.7}, anywhere);
  check_unary("hardswish", functor::Hardswish{}, {-4, -2.2, 0.5, 2.9, 3.5});
  check_unary("mish", functor::Mish{}, anywhere);
  check_binary("prelu", functor::Prelu{}, pairs);
  using functor::Activation;
  for (const auto kind : {Activation::none, Activation::relu, Activation::tanh, Activation::sigmoid}) {
    check_unary("chosen activation", functor::ChosenActivation{kind}, anywhere);
  }
}

TEST_CASE("derivatives of further functions") {
  const std::vector<double> within = {-0.9, -0.3, 0.2, 0.7}, shares = {0.1, 0.4, 0.8};
  check_unary("tan", functor::Tan{}, {-1.1, -0.4, 0.3, 0.9});
  check_unary("asin", functor::Asin{}, within);
  check_unary("acos", functor::Acos{}, within);
  check_unary("atan", functor::Atan{}, anywhere);
  check_unary("sinh", functor::Sinh{}, anywhere);
  check_unary("cosh", functor::Cosh{}, anywhere);
  check_unary("asinh", functor::Asinh{}, anywhere);
  check_unary("acosh", functor::Acosh{}, {1.2, 3.5});
  check_unary("atanh", functor::Atanh{}, within);
  check_unary("exp2", functor::Exp2{}, anywhere);
  check_unary("log2", functor::Log2{}, positive);
  check_unary("log10", functor::Log10{}, positive);
  check_unary("cbrt", functor::Cbrt{}, anywhere);
  check_unary("erfc", functor::Erfc{}, anywhere);
  check_unary("erfinv", functor::Erfinv{}, within);
  check_unary("lgamma", functor::Lgamma{}, anywhere);
  check_unary("digamma", functor::Digamma{}, anywhere);
  check_unary("logit", functor::Logit{}, shares);
  check_unary("trunc", functor::Trunc{}, anywhere);
  check_unary("nan_to_num", functor::NanToNum<double>{0, 1, 2}, anywhere);
  check_unary("selu", functor::Selu{}, anywhere);
  check_unary("celu", functor::Celu<double>{0.7}, anywhere);
  check_unary("hardsigmoid", functor::Hardsigmoid{}, anywhere);
  check_unary("hardtanh", functor::Hardtanh<double>{-1, 2}, anywhere);
  check_unary("softsign", functor::Softsign{}, anywhere);
  check_unary("threshold", functor::Threshold<double>{0.5, 7}, anywhere);
  check_unary("softshrink", functor::Softshrink<double>{0.5}, anywhere);
  check_unary("hardshrink", functor::Hardshrink<double>{0.5}, anywhere);
  check_binary("atan2", functor::Atan2{}, pairs);
  check_binary("hypot", functor::Hypot{}, pairs);
  check_binary("xlogy", functor::Xlogy{}, {{1.5, 0.5}, {-0.5, 1.5}, {2, 3}});
  check_binary("copysign", functor::Copysign{}, pairs);
  check_binary("fmod", functor::Fmod{}, pairs);
}

TEST_CASE("derivatives of selection") {
  check_binary("minimum", functor::Minimum{}, pairs);
  check_binary("maximum", functor::Maximum{}, pairs);
  const functor::Clamp clamp;
  for (const double x : {-2.0, 0.25, 2.0}) {
    const auto g = gradients(clamp, 3.0, x, -1.0, 1.0);
    check_close(get<0>(g), 3 * (clamp(x + step, -1.0, 1.0) - clamp(x - step, -1.0, 1.0)) / (2 * step), "clamp by x");
    check_close(get<1>(g), 3 * (clamp(x, -1 + step, 1.0) - clamp(x, -1 - step, 1.0)) / (2 * step), "clamp by low");
    check_close(get<2>(g), 3 * (clamp(x, -1.0, 1 + step) - clamp(x, -1.0, 1 - step)) / (2 * step), "clamp by high");
  }
  const auto crossed = gradients(clamp, 3.0, 0.5, 2.0, 1.0);  // low > high: the result is high, whatever x is
  CHECK(get<0>(crossed) == 0);
  CHECK(get<1>(crossed) == 0);
  CHECK(get<2>(crossed) == 3);
}

TEST_CASE("derivatives where there is none: as PyTorch chooses") {
  CHECK(get<0>(gradients(functor::Relu{}, 1.0, 0.0)) == 0);
  CHECK(get<0>(gradients(functor::Abs{}, 1.0, 0.0)) == 0);
  CHECK(get<0>(gradients(functor::LeakyRelu<double>{0.1}, 1.0, 0.0)) == 0.1);
  CHECK(get<0>(gradients(functor::Elu<double>{0.7}, 1.0, 0.0)) == 0.7);
  CHECK(get<0>(gradients(functor::Hardswish{}, 1.0, -3.0)) == 0);
  CHECK(get<0>(gradients(functor::Hardswish{}, 1.0, 3.0)) == 1);
  CHECK(get<0>(gradients(functor::Prelu{}, 1.0, 0.0, 0.25)) == 0.25);
  CHECK(get<1>(gradients(functor::Prelu{}, 1.0, 0.0, 0.25)) == 0);
  const auto unreached = functor::Prelu{}.pullback<double>(0, 0, -INFINITY, INFINITY);
  CHECK(get<0>(unreached) == 0);
  CHECK(get<1>(unreached) == 0);
  CHECK(get<0>(gradients(functor::Clamp{}, 1.0, -1.0, -1.0, 1.0)) == 1);
  CHECK(get<0>(gradients(functor::Clamp{}, 1.0, 1.0, -1.0, 1.0)) == 1);
  CHECK(get<0>(gradients(functor::Clamp{}, 1.0, static_cast<double>(NAN), -1.0, 1.0)) == 0);
  const auto smaller = gradients(functor::Minimum{}, 1.0, 2.0, 2.0),
             larger = gradients(functor::Maximum{}, 1.0, 2.0, 2.0);
  CHECK(get<0>(smaller) == 0.5);
  CHECK(get<1>(smaller) == 0.5);
  CHECK(get<0>(larger) == 0.5);
  CHECK(get<1>(larger) == 0.5);
  CHECK(get<0>(gradients(functor::Power{}, 1.0, 0.0, 0.0)) == 0);
  CHECK(get<1>(gradients(functor::Power{}, 1.0, 0.0, 2.0)) == 0);
  CHECK(get<0>(gradients(functor::Power{}, 1.0, -2.0, 3.0)) == doctest::Approx(12));
  CHECK(get<0>(gradients(functor::Power{}, 1.0, 0.0, 1.0)) == 1);
}

TEST_CASE("each function declares no fewer arguments than its derivative reads") {
  CHECK(detail::reads<functor::Add>(0) == 0);
  CHECK(detail::reads<functor::Multiply>(0) == 2);
  CHECK(detail::reads<functor::Multiply>(1) == 1);
  CHECK(detail::reads<functor::Divide>(1) == 3);
  CHECK((detail::reads<functor::Power>(0) & 3) == 3);
}

TEST_CASE("a conversion to integers ends the backward pass, as materializing them would") {
  using Truncated = Apply<functor::Convert<double>, Apply<functor::Convert<std::int32_t>, Symbol<0>>>;
  CHECK_FALSE(detail::TreeTraits<Truncated>::reaches(1));
  using Narrowed = Apply<functor::Convert<double>, Apply<functor::Convert<float>, Symbol<0>>>;
  CHECK(detail::TreeTraits<Narrowed>::reaches(1));
}

namespace {
/// The derivative by an argument must not read arguments that reads() does not list: they are not saved.
template <class F>
void check_reads(const char* name, const F& f, double x, double y) {
  const auto all = gradients(f, 2.5, x, y);
  constexpr double other = 17.0;
  for (int input = 0; input < 2; ++input) {
    const unsigned needed = detail::reads<F>(input);
    const auto g = gradients(f, 2.5, (needed & 1u) != 0 ? x : other, (needed & 2u) != 0 ? y : other);
    check_close(input == 0 ? get<0>(g) : get<1>(g), input == 0 ? get<0>(all) : get<1>(all),
                join(name, " by argument ", input));
  }
}
}  // namespace

TEST_CASE("derivatives look at the arguments that they declare, and at no others") {
  for (const auto& [x, y] : {std::pair{1.7, 0.6}, {-1.7, 0.6}, {7.3, -2.0}}) {
    check_reads("add", functor::Add{}, x, y);
    check_reads("subtract", functor::Subtract{}, x, y);
    check_reads("multiply", functor::Multiply{}, x, y);
    check_reads("divide", functor::Divide{}, x, y);
    check_reads("remainder", functor::Remainder{}, x, y);
    check_reads("minimum", functor::Minimum{}, x, y);
    check_reads("maximum", functor::Maximum{}, x, y);
  }
  check_reads("power", functor::Power{}, 1.7, 0.6);
  check_reads("fmod", functor::Fmod{}, 1.7, 0.6);
  CHECK(detail::reads<functor::Lerp>(2) == 3);
  CHECK(detail::reads<functor::Addcmul>(1) == 12);
  CHECK(detail::reads<functor::Addcdiv>(2) == 14);
}

TEST_CASE("a quotient has a derivative where the square of its divisor has none") {
  check_close(get<1>(gradients(functor::Divide{}, 1.0, 1e-200, 1e-180)) / 1e160, -1.0, "small");
  check_close(get<1>(gradients(functor::Divide{}, 1.0, 1e200, 1e180)) / 1e-160, -1.0, "large");
}

TEST_CASE("what is not a number stays in sight: values and gradients, as in PyTorch") {
  const auto x = variable(from({NAN, -1, 2}));
  sum(relu(x) * 3.f).backward();
  CHECK(x.grad()(0) == 3);
  CHECK(x.grad()(1) == 0);
  CHECK(x.grad()(2) == 3);
  for (const bool larger : {true, false}) {
    const auto a = variable(from({NAN, 1, 5})), b = variable(from({1, NAN, 5}));
    sum(larger ? maximum(a, b).eval() : minimum(a, b).eval()).backward();
    CHECK((a.grad()(0) == 1 && b.grad()(0) == 1));
    CHECK((a.grad()(1) == 1 && b.grad()(1) == 1));
    CHECK((a.grad()(2) == 0.5f && b.grad()(2) == 0.5f));
  }
  const Tensor clamped = clamp(from({1, 2}), NAN, 5.f);
  CHECK(std::isnan(clamped(0)));
  CHECK(std::isnan(Tensor(clamp(from({1, 2}), 0.f, NAN))(1)));
}
