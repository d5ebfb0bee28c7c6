// Runs on: host.
#include <locus/core/math.hpp>
#include <locus/core/math/hyperbolic.hpp>
#include <locus/core/math/inverse_trigonometric.hpp>
#include <locus/core/math/logarithms.hpp>
#include <locus/core/math/special.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <random>
#include <string>
#include <thread>
#include <vector>

using namespace locus;

namespace {

constexpr int block = 1024;
constexpr std::uint64_t floats = std::uint64_t{1} << 32;

float float_of(std::uint64_t bits) {
  const auto word = static_cast<std::uint32_t>(bits);
  float x = 0;
  std::memcpy(&x, &word, sizeof x);
  return x;
}

/// How many units in the last place of `exact` lie between it and `given`. Infinity is one above the largest float, as
/// it is for rounding; a zero of the wrong sign and a missing NaN are infinitely far off.
double units_between(float given, double exact) {
  if (std::isnan(exact) || std::isnan(given))
    return std::isnan(exact) && std::isnan(given) ? 0 : std::numeric_limits<double>::infinity();
  if (given == 0 && static_cast<float>(exact) == 0 && std::signbit(given) != std::signbit(exact))
    return std::numeric_limits<double>::infinity();
  const double at = std::clamp(static_cast<double>(given), -0x1p128, 0x1p128),
               of = std::clamp(exact, -0x1p128, 0x1p128);
  int exponent = 0;
  std::frexp(of, &exponent);
  return std::abs(at - of) / std::ldexp(1.0, std::clamp(exponent - 24, -149, 104));
}

struct Worst {
  double error = 0;
  float x = 0;
};
/// Allows an error of `allowed`, in the unit of `error`: by default units in the last place. `error` never returns NaN.
struct Function {
  const char* name;
  double allowed;
  void (*run)(const float* x, float* y);
  double (*exact)(double x);
  double (*error)(float x, float given, double exact) = [](float, float y, double z) { return units_between(y, z); };
};

constexpr double infinity = std::numeric_limits<double>::infinity();

double sigmoid_of(double x) { return 1 / (1 + std::exp(-x)); }
double silu_of(double x) { return x == -infinity ? -0.0 : x * sigmoid_of(x); }
double mish_of(double x) {
  const double e = std::exp(-std::abs(x));
  return x >= 0           ? x * ((1 + 2 * e) / (1 + 2 * e + 2 * e * e))
         : x == -infinity ? -0.0
                          : x * (e * (2 + e) / (2 + 2 * e + e * e));
}
double softplus_of(double x) { return std::max(x, 0.0) + std::log1p(std::exp(-std::abs(x))); }
double gelu_of(double x) { return x == -infinity ? -0.0 : 0.5 * x * std::erfc(-x / std::sqrt(2.0)); }
double gelu_tanh_of(double x) {
  const double root = std::sqrt(2 / 3.14159265358979323846);
  return x == -infinity ? -0.0 : x * sigmoid_of(2 * root * (x + 0.044715 * x * x * x));
}
double gelu_slope_of(double x) {
  if (std::abs(x) == infinity) return x > 0 ? 1 : 0;
  return 0.5 * std::erfc(-x / std::sqrt(2.0)) + x * 0.3989422804014327 * std::exp(-0.5 * x * x);
}

double logit_of(double x) {
  return static_cast<double>(std::log(static_cast<long double>(x) / (1.0L - static_cast<long double>(x))));
}
double erfinv_of(double x) {
  const auto exact = static_cast<long double>(x);
  if (!(std::abs(x) < 1)) return std::abs(x) == 1 ? std::copysign(infinity, x) : std::nan("");
  long double y = math::erfinv(x);  // corrected by a Newton step, which squares the error
  const long double off =
      std::abs(x) < 0.5 ? std::erf(std::abs(y)) - std::abs(exact) : (1.0L - std::abs(exact)) - std::erfc(std::abs(y));
  y = std::abs(y) - off / (1.1283791670955126L * std::exp(-y * y));
  return std::copysign(static_cast<double>(y), x);
}
double lgamma_of(double x) { return static_cast<double>(std::lgamma(static_cast<long double>(x))); }
/// Digamma by 40 steps and the first terms of the asymptotic series.
double digamma_of(double given) {
  const long double pi = 3.14159265358979323846264338327950288L;
  if (given == 0) return std::copysign(infinity, -given);
  if (given == -infinity || (given < 0 && given == std::floor(given))) return std::nan("");
  long double x = given, y = 0;
  if (x < 0) {
    y = -pi / std::tan(pi * (x - std::round(x)));
    x = 1 - x;
  }
  for (; x < 40; x += 1) y -= 1 / x;
  const long double z = 1 / (x * x);
  return static_cast<double>(y + std::log(x) - 0.5L / x -
                             z * (1 / 12.0L - z * (1 / 120.0L - z * (1 / 252.0L - z * (1 / 240.0L - z / 132.0L)))));
}

/// |given - exact| in units of an absolute and of a relative bound, whichever is more. A value that is not finite is
/// either equal or infinitely far off.
double bounded_error(float given, double exact, double absolute, double relative) {
  if (!std::isfinite(given) || !std::isfinite(exact)) return units_between(given, exact) == 0 ? 0 : infinity;
  const double error = std::abs(static_cast<double>(given) - exact);
  return std::max(error / absolute, error / relative);
}
/// In units of 1.9e-7 max(1, |x|), and of 1.7e-6 of the result down to -5, 8.8e-6 beyond.
double gelu_error(float x, float given, double exact) {
  const double at = std::abs(static_cast<double>(x));
  if (given == 0 && exact == 0 && std::signbit(given) != std::signbit(exact)) return infinity;
  return bounded_error(given, exact, 1.9e-7 * std::max(1.0, at),
                       (x > -5 ? 1.7e-6 : 8.8e-6) * std::abs(exact) + 0x1p-148);
}
/// In units of 5e-7, and of 1.1e-5 of the sizes of its two terms.
double gelu_slope_error(float x, float given, double exact) {
  const double at = static_cast<double>(x), second = at * 0.3989422804014327 * std::exp(-0.5 * at * at);
  const double terms = std::abs(at) < infinity ? std::abs(exact - second) + std::abs(second) : exact;
  return bounded_error(given, exact, 5e-7, 1.1e-5 * terms + 0x1p-149);
}

/// Each as the loop of a launch, with the exact function.
#define FUNCTIONS(X)            \
  X(exp, 2, std::exp)           \
  X(expm1, 2, std::expm1)       \
  X(log, 2, std::log)           \
  X(log1p, 2, std::log1p)       \
  X(tanh, 2, std::tanh)         \
  X(sigmoid, 2, sigmoid_of)     \
  X(silu, 2, silu_of)           \
  X(softplus, 2, softplus_of)   \
  X(mish, 1, mish_of)           \
  X(erf, 2, std::erf)           \
  X(gelu_exact, 2, gelu_of)     \
  X(gelu_tanh, 2, gelu_tanh_of) \
  X(sin, 1, std::sin)           \
  X(cos, 1, std::cos)           \
  X(sqrt, 0.5, std::sqrt)       \
  X(rsqrt, 2, 1 / std::sqrt)    \
  X(round, 0, std::rint)        \
  X(floor, 0, std::floor)       \
  X(ceil, 0, std::ceil)         \
  X(trunc, 0, std::trunc)

/// Functions in headers of their own.
#define FURTHER_FUNCTIONS(X) \
  X(tan, 1, std::tan)        \
  X(asin, 1, std::asin)      \
  X(acos, 1, std::acos)      \
  X(atan, 1, std::atan)      \
  X(sinh, 1, std::sinh)      \
  X(cosh, 1, std::cosh)      \
  X(asinh, 1, std::asinh)    \
  X(acosh, 1, std::acosh)    \
  X(atanh, 1, std::atanh)    \
  X(exp2, 1, std::exp2)      \
  X(log2, 1, std::log2)      \
  X(log10, 1, std::log10)    \
  X(cbrt, 1, std::cbrt)      \
  X(logit, 1, logit_of)      \
  X(erfc, 1, std::erfc)      \
  X(erfinv, 1, erfinv_of)    \
  X(lgamma, 1, lgamma_of)    \
  X(digamma, 1, digamma_of)

/// Functions that promise other bounds, with the error in units of these bounds.
#define BOUNDED_FUNCTIONS(X)      \
  X(gelu, 1, gelu_of, gelu_error) \
  X(gelu_slope, 1, gelu_slope_of, gelu_slope_error)

#define DEFINE_LOOP(name, ...)                                 \
  LOCUS_VECTORIZED void run_##name(const float* x, float* y) { \
    LOCUS_IVDEP                                                \
    for (int k = 0; k < block; ++k) y[k] = math::name(x[k]);   \
  }
FUNCTIONS(DEFINE_LOOP)
FURTHER_FUNCTIONS(DEFINE_LOOP)
BOUNDED_FUNCTIONS(DEFINE_LOOP)
LOCUS_VECTORIZED void run_exp_of_negative(const float* x, float* y) {
  LOCUS_IVDEP
  for (int k = 0; k < block; ++k) y[k] = math::exp_of_negative(-std::fabs(x[k]));
}
#define ENTRY(name, allowed, exact, ...) \
  {#name, allowed, &run_##name, [](double x) -> double { return exact(x); } __VA_OPT__(, ) __VA_ARGS__},
const Function functions[] = {FUNCTIONS(ENTRY) BOUNDED_FUNCTIONS(ENTRY){
    "exp_of_negative", 2, &run_exp_of_negative, [](double x) { return std::exp(-std::abs(x)); }}};
const Function further_functions[] = {FURTHER_FUNCTIONS(ENTRY)};

Worst worst_of(const Function& function, const std::vector<float>& numbers) {
  std::array<float, block> x{}, y{};
  Worst worst;
  for (std::size_t begin = 0; begin < numbers.size(); begin += block) {
    const std::size_t n = std::min(numbers.size() - begin, x.size());
    std::copy_n(numbers.begin() + static_cast<std::ptrdiff_t>(begin), n, x.begin());
    function.run(x.data(), y.data());
    for (std::size_t k = 0; k < n; ++k) {
      const double exact = function.exact(static_cast<double>(x[k]));
      if (y[k] == static_cast<float>(exact) && y[k] != 0) continue;  // at most half a unit off, as any float
      const double error = function.error(x[k], y[k], exact);
      if (!(error <= worst.error)) worst = {error, x[k]};
    }
  }
  return worst;
}

/// Worst error over every step-th float between two bit patterns.
Worst worst_between(const Function& function, std::uint64_t begin, std::uint64_t end, std::uint64_t step) {
  Worst worst;
  std::vector<float> numbers;
  for (std::uint64_t bits = begin; bits < end;) {
    numbers.clear();
    for (; bits < end && numbers.size() < block; bits += step) numbers.push_back(float_of(bits));
    const Worst here = worst_of(function, numbers);
    if (!(here.error <= worst.error)) worst = here;
  }
  return worst;
}

/// The same with all threads of the machine.
Worst worst_of_all(const Function& function, std::uint64_t step) {
  const std::uint64_t parts = std::max(1u, std::thread::hardware_concurrency());
  std::vector<Worst> worst(parts);
  std::vector<std::thread> threads;
  for (std::uint64_t part = 0; part < parts; ++part)
    threads.emplace_back([&, part] {
      worst[part] =
          worst_between(function, floats / parts * part, part + 1 < parts ? floats / parts * (part + 1) : floats, step);
    });
  for (std::thread& thread : threads) thread.join();
  return *std::max_element(worst.begin(), worst.end(), [](Worst a, Worst b) { return a.error < b.error; });
}

void check_worst(const Function& function, const Worst& worst) {
  INFO(std::string(function.name), " at ", worst.x, " is ", worst.error, " units off");
  CHECK(worst.error <= function.allowed);
}

/// Floats around the points where functions switch formulas.
std::vector<float> corners() {
  std::vector<float> result;
  const double centres[] = {0,          1e-45,   1.17549435e-38, 1e-8,   0.26,       0.34657359,
                            0.5,        0.625,   0.70710678,     0.75,   0.9,        1,
                            1.41421356, 1.4146,  1.5708,         2,      3.14159265, 3.95,
                            9.5,        12,      14.4,           17,     18,         60,
                            69,         87.34,   88.7228,        89,     104,        112,
                            113,        8388608, 0x1p52,         0x1p75, 3e38,       infinity};
  for (const double centre : centres) {
    std::uint32_t bits = 0;
    const float at = static_cast<float>(centre);
    std::memcpy(&bits, &at, sizeof bits);
    for (std::uint32_t offset = 0; offset < 2000; ++offset)
      for (const std::uint32_t sign : {0u, 0x80000000u}) result.push_back(float_of((bits + offset - 1000) ^ sign));
  }
  result.push_back(std::numeric_limits<float>::quiet_NaN());
  return result;
}

}  // namespace

TEST_CASE("functions of float are as exact as is promised: two units in the last place, except gelu and its slope") {
  for (const Function& function : functions) check_worst(function, worst_between(function, 0, floats, 997));
}

TEST_CASE("functions of float are as exact as is promised around their corners") {
  const std::vector<float> numbers = corners();
  for (const Function& function : functions) check_worst(function, worst_of(function, numbers));
}

// Each value is computed in double, so that a sample of one in ten thousand says as much.
TEST_CASE("functions of float of further headers are within one unit in the last place") {
  const std::vector<float> numbers = corners();
  for (const Function& function : further_functions) {
    check_worst(function, worst_between(function, 0, floats, 9973));
    check_worst(function, worst_of(function, numbers));
  }
}

// The better part of an hour: meson test --benchmark 'every float'.
TEST_CASE("functions of float are as exact as is promised for every float" *
          doctest::skip(std::getenv("LOCUS_EVERY_FLOAT") == nullptr)) {
  std::vector<Function> all(std::begin(functions), std::end(functions));
  all.insert(all.end(), std::begin(further_functions), std::end(further_functions));
  for (const Function& function : all) {
    const Worst worst = worst_of_all(function, 1);
    std::printf("%-10s %.3f at %.9g\n", function.name, worst.error, static_cast<double>(worst.x));
    std::fflush(stdout);
    check_worst(function, worst);
  }
}

namespace {

void check_power(float x, float y) {
  const double exact = std::pow(static_cast<double>(x), static_cast<double>(y));
  const float given = math::pow(x, y);
  if (!(units_between(given, exact) <= 1)) FAIL_CHECK("pow(", x, ", ", y, ") is ", given, ", exactly ", exact);
}

}  // namespace

TEST_CASE("powers of float are within one unit in the last place, and those of std::pow at the corners") {
  const float inf = std::numeric_limits<float>::infinity();
  const std::vector<float> special = {
      0,        1,           2,          3,          4,       5,        0.5f,
      1.5f,     2.5f,        1e-45f,     1.18e-38f,  3.4e38f, 16777215, 16777216,
      33554432, 0.99999994f, 1.0000001f, 8388607.5f, 8388609, inf,      std::numeric_limits<float>::quiet_NaN()};
  for (const float x : special)
    for (const float y : special)
      for (const float p : {x, -x})
        for (const float q : {y, -y}) check_power(p, q);
  std::mt19937 bits(1);
  std::uniform_real_distribution<float> base(0, 4), exponent(-60, 60), small(-0.001f, 0.001f);
  for (int i = 0; i < 200000; ++i) {
    check_power(float_of(bits()), float_of(bits()));
    check_power(base(bits), exponent(bits));
    check_power(1 + small(bits), 1000 * exponent(bits));
    check_power(float_of(bits() & 0x7fffffffu), exponent(bits) / 16);
    check_power(-base(bits), std::round(exponent(bits)));
  }
}

namespace {

LOCUS_VECTORIZED void run_exp_of_double(const double* x, double* y) {
  LOCUS_IVDEP
  for (int k = 0; k < block; ++k) y[k] = math::exp(x[k]);
}

/// In units in the last place of doubles; `exact` has more digits.
double units_between(double given, long double exact) {
  if (std::isnan(exact)) return std::isnan(given) ? 0 : infinity;
  const long double largest = std::numeric_limits<double>::max(), past = 0x1p1024L;
  if (exact > largest && std::isinf(given)) return 0;
  int exponent = -1074;
  if (exact > 0) std::frexp(exact, &exponent);
  const long double at = std::isinf(given) ? past : static_cast<long double>(given);
  return static_cast<double>(std::abs(at - exact) / std::ldexp(1.0L, std::max(exponent - 53, -1074)));
}

}  // namespace

TEST_CASE("exponentials of double are within one unit in the last place") {
  static_assert(std::numeric_limits<long double>::digits > 60, "the exact value needs more digits");
  std::vector<double> numbers = {0.0, -0.0, infinity, -infinity, std::nan(""), 1e-320, -1e-320, 1e300, -1e300};
  for (const double end : {709.782712893384, -745.1332191019412, -708.3964185322641, -744.4400719213812, 0.34657359028})
    for (int i = -500; i < 500; ++i) numbers.push_back(end + i * std::abs(end) * 0x1p-52);
  std::mt19937_64 bits(1);
  std::uniform_real_distribution<double> every(-750, 715), small(-1, 1);
  for (int i = 0; i < 300000; ++i) {
    numbers.push_back(every(bits));
    numbers.push_back(small(bits));
    const std::uint64_t word = bits();
    double any = 0;
    std::memcpy(&any, &word, sizeof any);
    numbers.push_back(any);
  }
  numbers.resize((numbers.size() + block - 1) / block * block);
  std::array<double, block> y{};
  for (std::size_t begin = 0; begin < numbers.size(); begin += block) {
    run_exp_of_double(&numbers[begin], y.data());
    for (std::size_t k = 0; k < block; ++k) {
      const double x = numbers[begin + k];
      const double units = units_between(y[k], std::exp(static_cast<long double>(x)));
      if (!(units <= 1)) FAIL_CHECK("exp(", x, ") is ", y[k], ", ", units, " units in the last place off");
    }
  }
}

TEST_CASE("a product that is added to is rounded once") {
  CHECK(math::fma(1 + 0x1p-23f, 1 - 0x1p-23f, -1.f) == -0x1p-46f);
  CHECK(math::fma(1 + 0x1p-52, 1 - 0x1p-52, -1.) == -0x1p-104);
}

TEST_CASE("doubles round, halves to the even neighbour") {
  for (const double x : {0.0, -0.0, 0.5, -0.5, 1.5, 2.5, -2.5, 2.6, -0.2, 0x1p51 + 0.5, -0x1p52 - 1, 0x1p53, 1e300,
                         infinity, -infinity}) {
    CAPTURE(x);
    for (const auto& [given, exact] :
         {std::pair{math::round(x), std::rint(x)}, std::pair{math::floor(x), std::floor(x)},
          std::pair{math::ceil(x), std::ceil(x)}}) {
      CHECK(given == exact);
      CHECK(std::signbit(given) == std::signbit(exact));
    }
  }
  CHECK(std::isnan(math::floor(std::nan(""))));
}
