// Runs on: host, cuda (tensors); loops.
#include <locus/expr/operators.hpp>

#include <support/device_list.hpp>
#include <support/reference.hpp>

#include <algorithm>
#include <cmath>

using namespace locus;
using namespace locus_test;

namespace {

double sigmoid_of(double x) { return 1 / (1 + std::exp(-x)); }
double softplus_of(double x) { return std::max(x, 0.0) + std::log1p(std::exp(-std::abs(x))); }
double mish_of(double x) { return x * std::tanh(softplus_of(x)); }
double gelu_of(double x) { return 0.5 * x * (1 + std::erf(x / std::sqrt(2.0))); }
double gelu_tanh_of(double x) {
  return 0.5 * x * (1 + std::tanh(std::sqrt(2 / 3.14159265358979323846) * (x + 0.044715 * x * x * x)));
}

/// Functions of any number, checked on both signs and zero.
template <class T, class D>
void check_everywhere() {
  CAPTURE(dtype_name<T>());
  const auto x = sample<T, D>({61}, 1, -4, 4);
  const auto a = reference(x);
  constexpr double allowed = 3 * tolerance<T>;
  CHECK_CLOSE(exp(x), reference_map([](double v) { return std::exp(v); }, a), allowed);
  CHECK_CLOSE(expm1(x), reference_map([](double v) { return std::expm1(v); }, a), allowed);
  CHECK_CLOSE(sin(x), reference_map([](double v) { return std::sin(v); }, a), allowed);
  CHECK_CLOSE(cos(x), reference_map([](double v) { return std::cos(v); }, a), allowed);
  CHECK_CLOSE(tanh(x), reference_map([](double v) { return std::tanh(v); }, a), allowed);
  CHECK_CLOSE(erf(x), reference_map([](double v) { return std::erf(v); }, a), allowed);
  CHECK_CLOSE(sigmoid(x), reference_map(sigmoid_of, a), allowed);
  CHECK_CLOSE(silu(x), reference_map([](double v) { return v * sigmoid_of(v); }, a), allowed);
  CHECK_CLOSE(softplus(x), reference_map(softplus_of, a), allowed);
  CHECK_CLOSE(mish(x), reference_map(mish_of, a), allowed);
  CHECK_CLOSE(hardswish(x), reference_map([](double v) { return v * std::clamp(v + 3, 0.0, 6.0) / 6; }, a), allowed);
  CHECK_CLOSE(elu(x, 0.5), reference_map([](double v) { return v > 0 ? v : 0.5 * std::expm1(v); }, a), allowed);
  CHECK_CLOSE(gelu(x), reference_map(gelu_of, a), allowed);
  CHECK_CLOSE(gelu<GeluForm::exact>(x), reference_map(gelu_of, a), allowed);
  CHECK_CLOSE(gelu<GeluForm::tanh>(x), reference_map(gelu_tanh_of, a), allowed);
  CHECK_CLOSE(leaky_relu(x, 0.25), reference_map([](double v) { return v < 0 ? 0.25 * v : v; }, a), allowed);
  CHECK_CLOSE(pow(2, x), reference_map([](double v) { return std::pow(2, v); }, a), allowed);
}

/// Functions of positive numbers.
template <class T, class D>
void check_positive() {
  CAPTURE(dtype_name<T>());
  const auto x = sample<T, D>({61}, 2, 0.1, 5), y = sample<T, D>({61}, 3, -2, 2);
  const auto a = reference(x), b = reference(y);
  constexpr double allowed = 3 * tolerance<T>;
  CHECK_CLOSE(log(x), reference_map([](double v) { return std::log(v); }, a), allowed);
  CHECK_CLOSE(log1p(x), reference_map([](double v) { return std::log1p(v); }, a), allowed);
  CHECK_CLOSE(sqrt(x), reference_map([](double v) { return std::sqrt(v); }, a), allowed);
  CHECK_CLOSE(rsqrt(x), reference_map([](double v) { return 1 / std::sqrt(v); }, a), allowed);
  CHECK_CLOSE(reciprocal(x), reference_map([](double v) { return 1 / v; }, a), allowed);
  CHECK_CLOSE(pow(x, y), reference_map([](double v, double w) { return std::pow(v, w); }, a, b), allowed);
  CHECK_CLOSE(pow(x, 3), reference_map([](double v) { return v * v * v; }, a), allowed);
}

template <class T, class D>
void check_rounding() {
  CAPTURE(dtype_name<T>());
  const auto x = tensor<T, D>({8}, {-2.5, -1.5, -0.5, -0.2, 0.5, 1.5, 2.5, 2.6});
  CHECK_CLOSE(floor(x), {-3, -2, -1, -1, 0, 1, 2, 2});
  CHECK_CLOSE(ceil(x), {-2, -1, 0, 0, 1, 2, 3, 3});
  CHECK_CLOSE(round(x), {-2, -2, 0, 0, 0, 2, 2, 3});
}

template <class T, class D>
void check_signs() {
  CAPTURE(dtype_name<T>());
  const auto x = tensor<T, D>({7}, {-3, -1.5, -0.5, 0, 0.5, 2.5, 3});
  const auto a = reference(x);
  CHECK_CLOSE(abs(x), reference_map([](double v) { return std::abs(v); }, a));
  CHECK_CLOSE(sign(x), reference_map([](double v) { return v > 0 ? 1.0 : v < 0 ? -1.0 : 0.0; }, a));
  CHECK_CLOSE(square(x), reference_map([](double v) { return v * v; }, a));
  CHECK_CLOSE(relu(x), reference_map([](double v) { return v > 0 ? v : 0; }, a));
}

}  // namespace

LOCUS_DEVICE_TEST("functions of any number", D) {
  check_everywhere<float, D>();
  if constexpr (all_dtypes<D>) {
    check_everywhere<double, D>();
    check_everywhere<half, D>();
    check_everywhere<bfloat16, D>();
  }
}

LOCUS_DEVICE_TEST("functions of positive numbers", D) {
  check_positive<float, D>();
  if constexpr (all_dtypes<D>) {
    check_positive<double, D>();
    check_positive<half, D>();
    check_positive<bfloat16, D>();
  }
}

LOCUS_DEVICE_TEST("signs and squares of every signed type", D) {
  check_signs<float, D>();
  if constexpr (all_dtypes<D>) {
    check_signs<double, D>();
    check_signs<half, D>();
    check_signs<bfloat16, D>();
    check_signs<std::int32_t, D>();
    check_signs<std::int64_t, D>();
  }
  const auto bytes = tensor<std::uint8_t, D>({3}, {0, 1, 200});
  CHECK_CLOSE(abs(bytes), {0, 1, 200});
  CHECK_CLOSE(sign(bytes), {0, 1, 1});
  CHECK_CLOSE(relu(bytes), {0, 1, 200});
  CHECK_CLOSE(square(bytes), {0, 1, 64});
}

LOCUS_DEVICE_TEST("rounding goes to the even neighbour from halfway", D) {
  check_rounding<float, D>();
  if constexpr (all_dtypes<D>) {
    check_rounding<double, D>();
    check_rounding<half, D>();
    check_rounding<bfloat16, D>();
  }
}

LOCUS_DEVICE_TEST("functions at the ends of their range", D) {
  const auto x = tensor<float, D>({5}, {-INFINITY, -100, 0, 100, INFINITY});
  constexpr double subnormal = 0.02;  // exp(-100) keeps few bits
  CHECK(relative_difference(exp(x), {0, std::exp(-100.0), 1, INFINITY, INFINITY}, subnormal) == "");
  CHECK(relative_difference(sigmoid(x), {0, std::exp(-100.0), 0.5, 1, 1}, subnormal) == "");
  CHECK(relative_difference(softplus(x), {0, std::exp(-100.0), std::log(2.0), 100, INFINITY}, subnormal) == "");
  CHECK_CLOSE(tanh(x), {-1, -1, 0, 1, 1});
  CHECK_CLOSE(elu(x), {-1, -1, 0, 100, INFINITY});
  CHECK_CLOSE(hardswish(x), {0, 0, 0, 100, INFINITY});
  CHECK(relative_difference(mish(x), {-0.0, -100 * std::exp(-100.0), 0, 100, INFINITY}, subnormal) == "");
  CHECK_CLOSE(log(x), {NAN, NAN, -INFINITY, std::log(100.0), INFINITY});
  CHECK_CLOSE(sqrt(x), {NAN, NAN, 0, 10, INFINITY});
  CHECK_CLOSE(log1p(tensor<float, D>({2}, {1e-10, -1})), Reference{1e-10, -INFINITY}, 1e-7);
  CHECK_CLOSE(expm1(tensor<double, D>({1}, {1e-10})), Reference{1e-10 + 0.5e-20}, 1e-15);
}

LOCUS_DEVICE_TEST("exp of float is within two units in the last place, from the least subnormal to the largest float",
                  D) {
  constexpr int count = 200001;
  std::vector<double> numbers(count);
  for (int i = 0; i < count; ++i) numbers[static_cast<std::size_t>(i)] = -103.0 + 191.7 * i / (count - 1);
  const auto x = tensor<float, D>({count}, numbers);
  const auto given = reference(exp(x)), at = reference(x);
  double worst = 0;
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    const double exact = std::exp(at.values[i]);
    const double unit = std::ldexp(1.0, std::max(std::ilogb(exact) - 23, -149));
    worst = std::max(worst, std::abs(given.values[i] - exact) / unit);
  }
  CHECK(worst < 2);
}

template <class X>
concept Exponentiable = requires(X x) { exp(x), sqrt(x), gelu(x), leaky_relu(x), elu(x), hardswish(x), mish(x); };
template <class X>
concept HasExp = requires(X x) { exp(x); };
template <class L, class R>
concept HasPow = requires(L x, R y) { pow(x, y); };

TEST_CASE("functions of floating-point numbers refuse integers") {
  CHECK(Exponentiable<Tensor<half>>);
  CHECK_FALSE(HasExp<Tensor<std::int32_t>>);
  CHECK_FALSE(HasExp<Tensor<bool>>);
  CHECK(HasPow<Tensor<double>, int>);
  CHECK(HasPow<float, Tensor<float>>);
  CHECK_FALSE(HasPow<Tensor<std::int32_t>, int>);
  CHECK_FALSE(HasPow<int, Tensor<std::int64_t>>);
  CHECK_FALSE(HasPow<Tensor<std::int32_t>, Tensor<std::int32_t>>);
  CHECK_FALSE(HasPow<Tensor<float>, Tensor<double>>);
}

TEST_CASE("leaky_relu refuses a slope that is infinite in the type of its elements") {
  const auto x = Tensor<float>({2}).fill_(0);
  CHECK_THROWS_WITH_AS((void)leaky_relu(x, -1e39), doctest::Contains("slope is -1e+39"), ArgumentError);
  (void)leaky_relu(Tensor<double>({2}).fill_(0), -1e39);
}
