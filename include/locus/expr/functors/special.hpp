#pragma once
// Other bases, roots, the gamma function, and functions of several numbers. functors.hpp lists the members of a
// function.

#include <locus/core/math/logarithms.hpp>
#include <locus/core/math/special.hpp>
#include <locus/expr/functors/arithmetic.hpp>
#include <locus/expr/functors/comparison.hpp>

namespace locus { inline namespace LOCUS_ABI { namespace functor {

struct Exp2 {
  template <class T>
  LOCUS_FN T operator()(T x) const {
    return math::exp2(x);
  }
  template <class T>
  LOCUS_FN T by_output(T y) const {
    return y * T(0.6931471805599453);
  }
};
struct Log2 {
  template <class T>
  LOCUS_FN T operator()(T x) const {
    return math::log2(x);
  }
  template <class T>
  LOCUS_FN T by_input(T x) const {
    return T(1.4426950408889634) / x;
  }
};
struct Log10 {
  template <class T>
  LOCUS_FN T operator()(T x) const {
    return math::log10(x);
  }
  template <class T>
  LOCUS_FN T by_input(T x) const {
    return T(0.4342944819032518) / x;
  }
};
struct Cbrt {
  template <class T>
  LOCUS_FN T operator()(T x) const {
    return math::cbrt(x);
  }
  template <class T>
  LOCUS_FN T by_output(T y) const {
    return T(1) / (T(3) * y * y);
  }
};
/// At (0, 0) the gradient is 0.
struct Hypot {
  template <class T>
  LOCUS_FN T operator()(T x, T y) const {
    return math::hypot(x, y);
  }
  template <class T>
  LOCUS_FN Pack<T, T> by_inputs(T x, T y) const {
    const T r = math::hypot(x, y);
    return {r == T(0) ? T(0) : x / r, r == T(0) ? T(0) : y / r};
  }
};

struct Erfc {
  template <class T>
  LOCUS_FN T operator()(T x) const {
    return math::erfc(x);
  }
  template <class T>
  LOCUS_FN T by_input(T x) const {
    return T(-1.1283791670955126) * math::exp(-x * x);
  }  // -2 / sqrt(pi)
};
struct Erfinv {
  template <class T>
  LOCUS_FN T operator()(T x) const {
    return math::erfinv(x);
  }
  template <class T>
  LOCUS_FN T by_output(T y) const {
    return T(0.88622692545275801) * math::exp(y * y);
  }
};
struct Lgamma {
  static constexpr bool takes_long = true;
  template <class T>
  LOCUS_FN T operator()(T x) const {
    return math::lgamma(x);
  }
  template <class T>
  LOCUS_FN T by_input(T x) const {
    return math::digamma(x);
  }
};
struct Digamma {
  static constexpr bool takes_long = true;
  template <class T>
  LOCUS_FN T operator()(T x) const {
    return math::digamma(x);
  }
  template <class T>
  LOCUS_FN T by_input(T x) const {
    return math::trigamma(x);
  }
};
/// x log y. The derivative by x is log y, also at x = 0, except that it is 0 there for y <= 0.
struct Xlogy {
  static constexpr unsigned reads(int) { return 3u; }
  template <class T>
  LOCUS_FN T operator()(T x, T y) const {
    return math::xlogy(x, y);
  }
  template <class T>
  LOCUS_FN Pack<T, T> by_inputs(T x, T y) const {
    const T slope = math::log(y);
    return {x == T(0) && y <= T(0) ? T(0) : slope, x / y};
  }
};
struct Logit {
  template <class T>
  LOCUS_FN T operator()(T x) const {
    return math::logit(x);
  }
  template <class T>
  LOCUS_FN T by_input(T x) const {
    return T(1) / (x * (T(1) - x));
  }
};

// Rounding, signs, NaN and infinities.

struct Trunc {
  template <class T>
  LOCUS_FN T operator()(T x) const {
    return math::trunc(x);
  }
  template <class T>
  LOCUS_FN T by_input(T) const {
    return T(0);
  }
};
/// Remainder with the sign of the dividend, as in C and torch.fmod; 0 for integers by zero.
struct Fmod {
  static constexpr unsigned reads(int input) { return input == 0 ? 0u : 3u; }
  template <class T>
  LOCUS_FN T operator()(T x, T y) const {
    if constexpr (std::is_same_v<T, bool>) return false;  // 0 by true as well as by false
    else if constexpr (std::is_unsigned_v<T>) return y == 0 ? T(0) : static_cast<T>(x % y);
    else if constexpr (std::is_integral_v<T>) return y == 0 || y == T(-1) ? T(0) : static_cast<T>(x % y);
    else return math::fmod(x, y);
  }
  template <class T>
  LOCUS_FN Pack<T, T> by_inputs(T x, T y) const {
    return {T(1), -math::trunc(x / y)};
  }
};
/// a + w (b - a), computed from the nearer end: exactly a for w = 0 and b for w = 1, even where b - a overflows.
struct Lerp {
  static constexpr unsigned reads(int input) { return input == 2 ? 3u : 4u; }
  template <class T>
  LOCUS_FN T operator()(T a, T b, T w) const {
    return between(a, b, w, T(1) - w);
  }
  /// rest = 1 - w, which the caller may know more precisely
  template <class T>
  LOCUS_FN static T between(T a, T b, T w, T rest) {
    const T distance = b - a, shares = rest * a + w * b;
    const T from_nearer = w < T(0.5) ? a + w * distance : b - distance * rest;
    return distance - distance == T(0) ? from_nearer : shares;
  }
  template <class T>
  LOCUS_FN Pack<T, T, T> by_inputs(T a, T b, T w) const {
    return {T(1) - w, w, b - a};
  }
};
/// |x| with the sign of s, signed zeros and NaN included. The derivative by x is 0 at 0; the derivative by s is 0.
struct Copysign {
  template <class T>
  LOCUS_FN T operator()(T x, T s) const {
    if constexpr (sizeof(T) == 4) return LOCUS_MATH(copysignf)(x, s);
    else return LOCUS_MATH(copysign)(x, s);
  }
  template <class T>
  LOCUS_FN Pack<T, T> by_inputs(T x, T s) const {
    const T kept = (*this)(T(1), x) * (*this)(T(1), s);
    return {x == T(0) ? T(0) : kept, T(0)};
  }
};
/// Replaces NaN and infinities by numbers, without gradient there.
template <class R>
struct NanToNum {
  static constexpr bool selects = true;
  R nan, posinf, neginf;
  template <class T>
  LOCUS_FN T operator()(T x) const {
    const T number = x != x ? T(nan) : x, ended = x > T(0) ? T(posinf) : T(neginf);
    return x - x == T(0) || x != x ? number : ended;
  }
  template <class T>
  LOCUS_FN T by_input(T x) const {
    return x - x == T(0) ? T(1) : T(0);
  }
};
struct IsNan : Predicate {
  template <class T>
  LOCUS_FN bool operator()(T x) const {
    return x != x;
  }
};
struct IsInf : Predicate {
  template <class T>
  LOCUS_FN bool operator()(T x) const {
    return (x - x != T(0)) & (x == x);
  }
};

/// x + value a b
struct Addcmul {
  static constexpr unsigned reads(int input) { return input == 0 ? 0u : 14u & ~(1u << input); }
  template <class T>
  LOCUS_FN T operator()(T x, T a, T b, T value) const {
    return Add{}(x, Multiply{}(value, Multiply{}(a, b)));
  }
  template <class T>
  LOCUS_FN Pack<T, T, T, T> by_inputs(T, T a, T b, T value) const {
    return {T(1), value * b, value * a, a * b};
  }
};
/// x + value a / b
struct Addcdiv {
  static constexpr unsigned reads(int input) { return input == 0 ? 0u : 14u & ~(input == 2 ? 0u : 1u << input); }
  template <class T>
  LOCUS_FN T operator()(T x, T a, T b, T value) const {
    return x + value * (a / b);
  }
  template <class T>
  LOCUS_FN Pack<T, T, T, T> by_inputs(T, T a, T b, T value) const {
    return {T(1), value / b, -value * (a / b) / b, a / b};
  }
};

}}}  // namespace locus::LOCUS_ABI::functor
