#include "reference.hpp"

#include <cmath>
#include <cstdint>
#include <limits>

// glibc's vectors of doubles, at most 4 ulp of double off, are eight times as fast as its scalar functions. Numbers
// that are not finite, and zeros, take the scalar functions all the same.
#if defined(__GLIBC__) && defined(__AVX512F__)
#define HAS_VECTORS 1
#define VECTOR_NAME(arguments, name) _ZGVeN8##arguments##_##name
#elif defined(__GLIBC__) && defined(__AVX2__)
#define HAS_VECTORS 1
#define VECTOR_NAME(arguments, name) _ZGVdN4##arguments##_##name
#else
#define HAS_VECTORS 0
#endif

namespace accuracy {
namespace {

#if defined(__AVX512F__)
constexpr std::size_t width = 8;
#else
constexpr std::size_t width = 4;
#endif
using Vector [[gnu::vector_size(8 * width), gnu::aligned(8)]] = double;

constexpr double infinity = std::numeric_limits<double>::infinity(), nan = std::numeric_limits<double>::quiet_NaN();
constexpr double pi = 3.14159265358979323846, root_half = 0.70710678118654752440;

// One lane at a time: the reference where there are no vectors, and of numbers that are not finite.

double logit_of(double x) {
  return x < 0.25    ? std::log(x) - std::log1p(-x)
         : x <= 0.75 ? std::log1p((2 * x - 1) / (1 - x))
                     : std::log(x / (1 - x));
}
double sigmoid_of(double x) { return 1 / (1 + std::exp(-x)); }
double silu_of(double x) { return x == -infinity ? -0.0 : x * sigmoid_of(x); }
double softplus_of(double x) { return std::fmax(x, 0.0) + (x != x ? x : std::log1p(std::exp(-std::abs(x)))); }
double mish_of(double x) {
  const double e = std::exp(-std::abs(x));
  return x >= 0           ? x * ((1 + 2 * e) / (1 + 2 * e + 2 * e * e))
         : x == -infinity ? -0.0
                          : x * (e * (2 + e) / (2 + 2 * e + e * e));
}
double gelu_of(double x) { return x == -infinity ? -0.0 : 0.5 * x * std::erfc(-root_half * x); }
double gelu_tanh_of(double x) {
  return x == -infinity ? -0.0 : x * sigmoid_of(x * (1.5957691216057307 + 0.07135481627260025 * (x * x)));
}
double elu_of(double x) { return x > 0 ? x : std::expm1(x); }
double maximum_of(double x, double y) { return std::isnan(x) || x > y ? x : y; }
double minimum_of(double x, double y) { return std::isnan(x) || x < y ? x : y; }
double xlogy_of(double x, double y) { return x == 0 && y == y ? 0 : x * std::log(y); }
/// A zero has the sign of x, as in libtorch; in Python it has the sign of y.
double remainder_of(double x, double y) {
  const double rest = std::fmod(x, y);
  return rest != 0 && (rest < 0) != (y < 0) ? rest + y : rest;
}

/// Three steps of Halley's method from Winitzki's approximation, whose error of 2e-3 they make 1e-16.
double erfinv_of(double x) {
  const double a = std::abs(x);
  if (!(a < 1)) return a == 1 ? std::copysign(infinity, x) : nan;
  if (a < 1e-10) return x * 0.88622692545275801365;
  const double l = std::log1p(-a) + std::log1p(a), b = 2 / (pi * 0.147) + 0.5 * l;
  double y = std::sqrt(std::sqrt(b * b - l / 0.147) - b);
  if (a < 1e-3) y = a * 0.88622692545275801365;
  for (int step = 0; step < 3; ++step) {
    const double off = a < 0.5 ? std::erf(y) - a : (1 - a) - std::erfc(y);
    const double newton = off / (1.12837916709551257390 * std::exp(-y * y));
    y -= newton / (1 + y * newton);
  }
  return std::copysign(y, x);
}

double lgamma_of(double x) {
  int sign = 0;
  return static_cast<double>(::lgammal_r(static_cast<long double>(x), &sign));
}

/// Of long double: up to 20 steps of psi(x) = psi(x + 1) - 1 / x, then its asymptotic series (Abramowitz and Stegun,
/// 6.3.18). For x < 0, psi(1 - x) - pi / tan(pi x), whose zeros cancel to the 2^-64 of long double.
double digamma_of(double given) {
  if (given == 0) return std::copysign(infinity, -given);
  if (given == -infinity || (given < 0 && given == std::floor(given))) return nan;
  const long double whole_pi = 3.14159265358979323846264338327950288L;
  long double x = static_cast<long double>(given), y = 0;
  if (x < 0) {
    y = -whole_pi / std::tan(whole_pi * (x - std::round(x)));
    x = 1 - x;
  }
  for (; x < 20; x += 1) y -= 1 / x;
  const long double z = 1 / (x * x);
  const long double series =
      1 / 12.0L -
      z * (1 / 120.0L - z * (1 / 252.0L - z * (1 / 240.0L - z * (1 / 132.0L - z * (691 / 32760.0L - z / 12)))));
  return static_cast<double>(y + std::log(x) - 0.5L / x - z * series);
}

/// Calls f for each number.
template <auto f>
void each(const double* x, const double*, double* exact, std::size_t n) {
  for (std::size_t k = 0; k < n; ++k) exact[k] = f(x[k]);
}
template <auto f>
void each_pair(const double* x, const double* y, double* exact, std::size_t n) {
  for (std::size_t k = 0; k < n; ++k) exact[k] = f(x[k], y[k]);
}

#if HAS_VECTORS

extern "C" {
#define DECLARE(name) [[gnu::const]] Vector VECTOR_NAME(v, name)(Vector);
#define DECLARE_OF_TWO(name) [[gnu::const]] Vector VECTOR_NAME(vv, name)(Vector, Vector);
// clang-format off
#define VECTOR_FUNCTIONS(X) \
  X(exp) X(exp2) X(expm1) X(log) X(log2) X(log10) X(log1p) X(sin) X(cos) X(tan) X(asin) X(acos) X(atan) X(sinh) \
  X(cosh) X(tanh) X(asinh) X(acosh) X(atanh) X(erf) X(erfc) X(cbrt)
// clang-format on
VECTOR_FUNCTIONS(DECLARE)
DECLARE_OF_TWO(pow)
DECLARE_OF_TWO(atan2)
DECLARE_OF_TWO(hypot)
}

#define DEFINE(name) \
  Vector v_##name(Vector x) { return VECTOR_NAME(v, name)(x); }
VECTOR_FUNCTIONS(DEFINE)

Vector magnitude(Vector x) { return x < 0 ? -x : x; }
Vector v_sigmoid(Vector x) { return 1 / (1 + v_exp(-x)); }
Vector v_silu(Vector x) { return x * v_sigmoid(x); }
Vector v_softplus(Vector x) { return (x > 0 ? x : Vector{}) + v_log1p(v_exp(-magnitude(x))); }
Vector v_mish(Vector x) {
  const Vector e = v_exp(-magnitude(x));
  return x * (x >= 0 ? (1 + 2 * e) / (1 + 2 * e + 2 * e * e) : e * (2 + e) / (2 + 2 * e + e * e));
}
Vector v_gelu(Vector x) { return 0.5 * x * v_erfc(-root_half * x); }
Vector v_gelu_tanh(Vector x) { return x * v_sigmoid(x * (1.5957691216057307 + 0.07135481627260025 * (x * x))); }
Vector v_elu(Vector x) { return x > 0 ? x : v_expm1(x); }

/// f of vectors, and of(x) of each number that is zero or not finite.
template <auto f, auto of>
void vectors(const double* x, const double*, double* exact, std::size_t n) {
  for (std::size_t k = 0; k < n; k += width) {
    const Vector given = *reinterpret_cast<const Vector*>(x + k);
    *reinterpret_cast<Vector*>(exact + k) = f(given);
  }
  for (std::size_t k = 0; k < n; ++k)
    if (x[k] == 0 || !std::isfinite(x[k])) exact[k] = of(x[k]);
}
template <auto f, auto of>
void vectors_of_pairs(const double* x, const double* y, double* exact, std::size_t n) {
  for (std::size_t k = 0; k < n; k += width)
    *reinterpret_cast<Vector*>(exact + k) =
        f(*reinterpret_cast<const Vector*>(x + k), *reinterpret_cast<const Vector*>(y + k));
  for (std::size_t k = 0; k < n; ++k)
    if (x[k] == 0 || y[k] == 0 || !std::isfinite(x[k]) || !std::isfinite(y[k])) exact[k] = of(x[k], y[k]);
}
#define OF_VECTORS(name, of) &vectors<&v_##name, of>, Second::none, &each<of>
#define OF_PAIRS(name, second, of) \
  &vectors_of_pairs<[](Vector x, Vector y) { return VECTOR_NAME(vv, name)(x, y); }, of>, second, &each_pair<of>

#else
#define OF_VECTORS(name, of) &each<of>
#define OF_PAIRS(name, second, of) &each_pair<of>, second
#endif

/// A function of the C library.
#define LIBM(name) [](double x) -> double { return std::name(x); }
#define LIBM_OF_TWO(name) [](double x, double y) -> double { return std::name(x, y); }
#define FROM_LIBM(name) \
  { #name, OF_VECTORS(name, LIBM(name)) }

constexpr Reference table[] = {
    FROM_LIBM(exp),
    FROM_LIBM(exp2),
    FROM_LIBM(expm1),
    FROM_LIBM(log),
    FROM_LIBM(log2),
    FROM_LIBM(log10),
    FROM_LIBM(log1p),
    FROM_LIBM(sin),
    FROM_LIBM(cos),
    FROM_LIBM(tan),
    FROM_LIBM(asin),
    FROM_LIBM(acos),
    FROM_LIBM(atan),
    FROM_LIBM(sinh),
    FROM_LIBM(cosh),
    FROM_LIBM(tanh),
    FROM_LIBM(asinh),
    FROM_LIBM(acosh),
    FROM_LIBM(atanh),
    {"sqrt", &each<LIBM(sqrt)>},
    {"rsqrt", &each<[](double x) { return 1 / std::sqrt(x); }>},
    FROM_LIBM(cbrt),
    {"reciprocal", &each<[](double x) { return 1 / x; }>},
    FROM_LIBM(erf),
    FROM_LIBM(erfc),
    {"erfinv", &each<&erfinv_of>},
    {"lgamma", &each<&lgamma_of>},
    {"digamma", &each<&digamma_of>},
    {"sigmoid", OF_VECTORS(sigmoid, &sigmoid_of)},
    {"logit", &each<&logit_of>},
    {"silu", OF_VECTORS(silu, &silu_of)},
    {"softplus", OF_VECTORS(softplus, &softplus_of)},
    {"mish", OF_VECTORS(mish, &mish_of)},
    {"elu", OF_VECTORS(elu, &elu_of)},
    {"gelu", OF_VECTORS(gelu, &gelu_of)},
    {"gelu_exact", OF_VECTORS(gelu, &gelu_of)},
    {"gelu_tanh", OF_VECTORS(gelu_tanh, &gelu_tanh_of)},
    {"round", &each<LIBM(rint)>},
    {"floor", &each<LIBM(floor)>},
    {"ceil", &each<LIBM(ceil)>},
    {"trunc", &each<LIBM(trunc)>},
    {"pow", OF_PAIRS(pow, Second::exponent, LIBM_OF_TWO(pow))},
    {"atan2", OF_PAIRS(atan2, Second::any, LIBM_OF_TWO(atan2))},
    {"hypot", OF_PAIRS(hypot, Second::any, LIBM_OF_TWO(hypot))},
    {"fmod", &each_pair<LIBM_OF_TWO(fmod)>, Second::any},
    {"remainder", &each_pair<&remainder_of>, Second::any},
    {"add", &each_pair<[](double x, double y) { return x + y; }>, Second::any},
    {"multiply", &each_pair<[](double x, double y) { return x * y; }>, Second::any},
    {"divide", &each_pair<[](double x, double y) { return x / y; }>, Second::any},
    {"maximum", &each_pair<&maximum_of>, Second::any},
    {"minimum", &each_pair<&minimum_of>, Second::any},
    {"xlogy", &each_pair<&xlogy_of>, Second::any},
};

}  // namespace

std::span<const Reference> references() { return table; }

const Reference* reference_of(std::string_view name) {
  for (const Reference& reference : table)
    if (name == reference.name) return &reference;
  return nullptr;
}

}  // namespace accuracy
