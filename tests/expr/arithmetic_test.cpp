// Runs on: host, cuda (expressions), reference.
#include <locus/expr/operators.hpp>

#include <support/device_list.hpp>
#include <support/reference.hpp>

#include <cmath>

using namespace locus;
using namespace locus_test;

namespace {

/// A whole number converted to T: integers wrap around.
template <class T>
double held(double value) {
  if constexpr (IntegerDType<T>) return static_cast<double>(static_cast<T>(static_cast<std::int64_t>(value)));
  else return value;
}

/// Rounded down for integers; by zero 0.
template <class T>
double quotient(double a, double b) {
  if constexpr (IntegerDType<T>) return b == 0 ? 0 : held<T>(std::floor(a / b));
  else return a / b;
}

/// With the sign of the divisor; of integers by zero 0.
template <class T>
double remainder_of(double a, double b) {
  if (IntegerDType<T> && b == 0) return 0;
  const double rest = std::fmod(a, b);
  return rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest;
}

/// Values of T for every case: both signs if T has them, zero for integers, otherwise no value near zero.
template <class T, class D>
Tensor<T, D> operand(std::uint64_t seed) {
  if constexpr (std::is_same_v<T, std::uint8_t>) return sample<T, D>({4, 9}, seed, 0, 255);
  else if constexpr (IntegerDType<T>) return sample<T, D>({4, 9}, seed, -6, 6);
  else return sample<T, D>({4, 9}, seed, 0.5, 3);
}

template <class T, class D>
void check_arithmetic() {
  CAPTURE(dtype_name<T>());
  const auto x = operand<T, D>(1), y = operand<T, D>(2);
  const auto a = reference(x), b = reference(y);
  CHECK_CLOSE(x + y, reference_map([](double p, double q) { return held<T>(p + q); }, a, b));
  CHECK_CLOSE(x - y, reference_map([](double p, double q) { return held<T>(p - q); }, a, b));
  CHECK_CLOSE(x * y, reference_map([](double p, double q) { return held<T>(p * q); }, a, b));
  CHECK_CLOSE(x / y, reference_map(quotient<T>, a, b));
  CHECK_CLOSE(x % y, reference_map(remainder_of<T>, a, b), 4 * tolerance<T>);
  CHECK_CLOSE(-x, reference_map([](double p) { return held<T>(-p); }, a));
}

template <class T, class D>
void check_numbers_beside() {
  CAPTURE(dtype_name<T>());
  const auto x = operand<T, D>(3);
  const auto a = reference(x), five = Reference(Shape{}, {5});
  CHECK_CLOSE(x + 5, reference_map([](double p, double q) { return p + q; }, a, five));
  CHECK_CLOSE(5 - x, reference_map([](double p, double q) { return p - q; }, five, a));
  CHECK_CLOSE(5 * x, reference_map([](double p, double q) { return p * q; }, five, a));
  CHECK_CLOSE(5 / x, reference_map(quotient<T>, five, a));
  CHECK_CLOSE(x / 5, reference_map(quotient<T>, a, five));
  CHECK_CLOSE(x % 5, reference_map(remainder_of<T>, a, five), 4 * tolerance<T>);
}

}  // namespace

LOCUS_DEVICE_TEST("arithmetic of floating-point numbers", D) {
  check_arithmetic<float, D>();
  check_numbers_beside<float, D>();
  if constexpr (all_dtypes<D>) {
    check_arithmetic<double, D>();
    check_arithmetic<half, D>();
    check_arithmetic<bfloat16, D>();
  }
}

LOCUS_DEVICE_TEST("arithmetic of integers", D) {
  check_arithmetic<std::int32_t, D>();
  if constexpr (all_dtypes<D>) {
    check_numbers_beside<std::int32_t, D>();
    check_arithmetic<std::int64_t, D>();
    check_arithmetic<std::uint8_t, D>();
  }
}

LOCUS_DEVICE_TEST("arithmetic of the 16-bit types happens in float", D) {
  const auto x = tensor<half, D>({2}, {2048, 1});
  CHECK_CLOSE((x + 1) - x, {1, 1});  // half cannot represent 2049: the sum is not rounded in between
}

LOCUS_DEVICE_TEST("integers wrap around and divide by anything", D) {
  constexpr double least = INT32_MIN, most = INT32_MAX;
  const auto x = tensor<std::int32_t, D>({6}, {least, most, 7, -7, 7, -7});
  const auto y = tensor<std::int32_t, D>({6}, {-1, -1, 0, 0, -2, 2});
  CHECK_CLOSE(x / y, {least, -most, 0, 0, -4, -4});
  CHECK_CLOSE(x % y, {0, 0, 0, 0, -1, 1});
  CHECK_CLOSE(x + x, {0, -2, 14, -14, 14, -14});
  CHECK_CLOSE(x * x, {0, 1, 49, 49, 49, 49});
  CHECK_CLOSE(-x, {least, -most, -7, 7, -7, 7});
  CHECK_CLOSE(abs(x), {least, most, 7, 7, 7, 7});
  const auto bytes = tensor<std::uint8_t, D>({3}, {0, 200, 255});
  CHECK_CLOSE(bytes + 100, {100, 44, 99});
  CHECK_CLOSE(bytes % 255, {0, 200, 0});
  CHECK_CLOSE(bytes / 255, {0, 0, 1});
  CHECK_CLOSE(-bytes, {0, 56, 1});
}

LOCUS_DEVICE_TEST("halves are rounded to even, and conversion leaves out fractions", D) {
  const auto x = tensor<float, D>({8}, {0.5, 1.5, 2.5, -0.5, -1.5, 2.75, -2.75, NAN});
  CHECK_CLOSE(round(x), {0, 2, 2, -0.0, -2, 3, -3, NAN});
  CHECK_CLOSE(x.slice(0, 0, 7).template as<std::int32_t>(), {0, 1, 2, 0, -1, 2, -2});
  CHECK_CLOSE((x + 0.f).slice(0, 0, 6).template as<std::int64_t>(), {0, 1, 2, 0, -1, 2});
  CHECK_CLOSE((x * 0.f).template as<bool>(), {0, 0, 0, 0, 0, 0, 0, 1});  // NaN is not 0
  CHECK_CLOSE(tensor<std::int32_t, D>({3}, {256, -1, 300}).template as<std::uint8_t>(), {0, 255, 44});
  CHECK_CLOSE(tensor<std::int64_t, D>({2}, {(1ll << 32) + 5, -7}).template as<std::int32_t>(), {5, -7});
  CHECK_CLOSE(tensor<float, D>({3}, {2049, 2051, 70000}).template as<half>(), {2048, 2052, INFINITY});
  CHECK_CLOSE(maximum(x, 3.f).eval().slice(0, 6, 8), {3, NAN});
  CHECK_CLOSE(clamp(x, 0.f, 1.f).eval().slice(0, 6, 8), {0, NAN});
  CHECK_CLOSE(x.slice(0, 7, 8) == x.slice(0, 7, 8), {0});
}

LOCUS_DEVICE_TEST("floats divide by zero as IEEE says, and minus zero has its sign", D) {
  const auto x = tensor<float, D>({3}, {1, -1, 0});
  CHECK_CLOSE(x / 0.0f, {INFINITY, -INFINITY, NAN});
  CHECK_CLOSE(x % 0.0f, {NAN, NAN, NAN});
  CHECK_CLOSE(tensor<float, D>({2}, {5.5, -5.5}) % 2, {1.5, 0.5});
  CHECK_CLOSE(1 / -x, {-1, 1, -INFINITY});
}

LOCUS_DEVICE_TEST("a number beside a tensor is converted to the tensor's type", D) {
  const auto x = tensor<float, D>({2}, {1, 2});
  static_assert(std::is_same_v<value_of<decltype(x * 2.5)>, float>);
  static_assert(std::is_same_v<value_of<decltype(2 + x)>, float>);
  CHECK_CLOSE(x * 2.5 + 1, {3.5, 6});
  CHECK_CLOSE(half(0.5f) * tensor<half, D>({2}, {1, 2}), {0.5, 1});
  CHECK_CLOSE(tensor<std::int64_t, D>({1}, {1}) + (std::int64_t{1} << 40), {1.0 + 0x1p40});
}

template <class A, class B>
concept Addable = requires(A a, B b) { a + b; };

TEST_CASE("a fraction beside integers, mixed element types and mixed places do not compile") {
  using Floats = Tensor<float>;
  using Ints = Tensor<std::int32_t>;
  CHECK(Addable<Floats, Floats>);
  CHECK(Addable<Floats, int>);
  CHECK(Addable<double, Floats>);
  CHECK(Addable<Ints, int>);
  CHECK_FALSE(Addable<Ints, double>);
  CHECK_FALSE(Addable<float, Ints>);
  CHECK_FALSE(Addable<Ints, Floats>);
  CHECK_FALSE(Addable<Floats, Tensor<double>>);
  CHECK_FALSE(Addable<Tensor<bool>, int>);
  CHECK_FALSE(Addable<Floats, Tensor<float, Counting>>);
  CHECK_FALSE(Addable<Floats, std::string>);
}

TEST_CASE("numbers beside integers fit their type") {
  const auto x = tensor<std::uint8_t, Cpu>({2}, {50, 255});
  CHECK_THROWS_AS((void)(x > 300), ArgumentError);
  CHECK_THROWS_AS((void)(x == -1), ArgumentError);
  CHECK_THROWS_AS((void)(tensor<std::int32_t, Cpu>({1}, {1}) < 5000000000), ArgumentError);
  CHECK_CLOSE(x > 254, {0, 1});
}
