#pragma once
// Other bases, roots, the gamma function, and functions of several numbers. functors.hpp lists the members of a
// class.

#include <locus/core/math/logarithms.hpp>
#include <locus/core/math/special.hpp>
#include <locus/expr/functions/comparison.hpp>
#include <locus/expr/functions/declare.hpp>

#include <limits>

namespace locus { inline namespace LOCUS_ABI { namespace functor {

struct Exp2 {
  template <class T> LOCUS_FN T operator()(T x) const { return math::exp2(x); }
  template <class T> LOCUS_FN T by_output(T y) const { return y * T(0.6931471805599453); }
};
struct Log2 {
  template <class T> LOCUS_FN T operator()(T x) const { return math::log2(x); }
  template <class T> LOCUS_FN T by_input(T x) const { return T(1.4426950408889634) / x; }
};
struct Log10 {
  template <class T> LOCUS_FN T operator()(T x) const { return math::log10(x); }
  template <class T> LOCUS_FN T by_input(T x) const { return T(0.4342944819032518) / x; }
};
struct Cbrt {
  template <class T> LOCUS_FN T operator()(T x) const { return math::cbrt(x); }
  template <class T> LOCUS_FN T by_output(T y) const { return T(1) / (T(3) * y * y); }
};
/// At (0, 0) the gradient is 0.
struct Hypot {
  template <class T> LOCUS_FN T operator()(T x, T y) const { return math::hypot(x, y); }
  template <class T>
  LOCUS_FN Pack<T, T> by_inputs(T x, T y) const {
    const T r = math::hypot(x, y);
    return {r == T(0) ? T(0) : x / r, r == T(0) ? T(0) : y / r};
  }
};

struct Erfc {
  template <class T> LOCUS_FN T operator()(T x) const { return math::erfc(x); }
  template <class T>
  LOCUS_FN T by_input(T x) const {
    return T(-1.1283791670955126) * math::exp(-x * x);
  }  // -2 / sqrt(pi)
};
struct Erfinv {
  template <class T> LOCUS_FN T operator()(T x) const { return math::erfinv(x); }
  template <class T> LOCUS_FN T by_output(T y) const { return T(0.88622692545275801) * math::exp(y * y); }
};
struct Lgamma {
  static constexpr bool takes_long = true;
  template <class T> LOCUS_FN T operator()(T x) const { return math::lgamma(x); }
  template <class T> LOCUS_FN T by_input(T x) const { return math::digamma(x); }
};
struct Digamma {
  static constexpr bool takes_long = true;
  template <class T> LOCUS_FN T operator()(T x) const { return math::digamma(x); }
  template <class T> LOCUS_FN T by_input(T x) const { return math::trigamma(x); }
};
/// x log y. The derivative by x is log y, also at x = 0, except that it is 0 there for y <= 0.
struct Xlogy {
  static constexpr unsigned reads(int) { return 3u; }
  template <class T> LOCUS_FN T operator()(T x, T y) const { return math::xlogy(x, y); }
  template <class T>
  LOCUS_FN Pack<T, T> by_inputs(T x, T y) const {
    const T slope = math::log(y);
    return {x == T(0) && y <= T(0) ? T(0) : slope, x / y};
  }
};
struct Logit {
  template <class T> LOCUS_FN T operator()(T x) const { return math::logit(x); }
  template <class T> LOCUS_FN T by_input(T x) const { return T(1) / (x * (T(1) - x)); }
};

// Rounding, signs, NaN and infinities.

struct Trunc {
  template <class T> LOCUS_FN T operator()(T x) const { return math::trunc(x); }
  template <class T> LOCUS_FN T by_input(T) const { return T(0); }
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
  template <class T> LOCUS_FN Pack<T, T> by_inputs(T x, T y) const { return {T(1), -math::trunc(x / y)}; }
};
/// a + w (b - a), computed from the nearer end: exactly a for w = 0 and b for w = 1, even where b - a overflows.
struct Lerp {
  static constexpr unsigned reads(int input) { return input == 2 ? 3u : 4u; }
  template <class T> LOCUS_FN T operator()(T a, T b, T w) const { return between(a, b, w, T(1) - w); }
  /// rest = 1 - w, which the caller may know more precisely
  template <class T>
  LOCUS_FN static T between(T a, T b, T w, T rest) {
    const T distance = b - a, shares = rest * a + w * b;
    const T from_nearer = w < T(0.5) ? a + w * distance : b - distance * rest;
    return distance - distance == T(0) ? from_nearer : shares;
  }
  template <class T> LOCUS_FN Pack<T, T, T> by_inputs(T a, T b, T w) const { return {T(1) - w, w, b - a}; }
};
/// |x| with the sign of s, signed zeros and NaN included. The derivative by x is 0 at 0; the derivative by s is 0.
struct Copysign {
  template <class T>
  LOCUS_FN T operator()(T x, T s) const {
    if constexpr (is_dual<T>) return detail::applied(*this, x, s);
    else if constexpr (sizeof(T) == 4) return LOCUS_MATH(copysignf)(x, s);
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
  template <class T> LOCUS_FN T by_input(T x) const { return x - x == T(0) ? T(1) : T(0); }
};
struct IsNan : Predicate {
  template <class T> LOCUS_FN bool operator()(T x) const { return x != x; }
};
struct IsInf : Predicate {
  template <class T>
  LOCUS_FN bool operator()(T x) const {
    if constexpr (is_complex<T>) return (*this)(x.real) || (*this)(x.imag);
    else return (x - x != T(0)) & (x == x);
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
  template <class T> LOCUS_FN T operator()(T x, T a, T b, T value) const { return x + value * (a / b); }
  template <class T>
  LOCUS_FN Pack<T, T, T, T> by_inputs(T, T a, T b, T value) const {
    return {T(1), value / b, -value * (a / b) / b, a / b};
  }
};

}}}  // namespace locus::LOCUS_ABI::functor

namespace locus { inline namespace LOCUS_ABI {

LOCUS_UNARY_FUNCTION(exp2, functor::Exp2, detail::FloatingOperand)
LOCUS_UNARY_FUNCTION(log2, functor::Log2, detail::FloatingOperand)
LOCUS_UNARY_FUNCTION(log10, functor::Log10, detail::FloatingOperand)
LOCUS_UNARY_FUNCTION(cbrt, functor::Cbrt, detail::FloatingOperand)
LOCUS_UNARY_FUNCTION(erfc, functor::Erfc, detail::FloatingOperand)
LOCUS_UNARY_FUNCTION(erfinv, functor::Erfinv, detail::FloatingOperand)
LOCUS_UNARY_FUNCTION(lgamma, functor::Lgamma, detail::FloatingOperand)
LOCUS_UNARY_FUNCTION(digamma, functor::Digamma, detail::FloatingOperand)
LOCUS_UNARY_FUNCTION(logit, functor::Logit, detail::FloatingOperand)
LOCUS_UNARY_FUNCTION(trunc, functor::Trunc, detail::FloatingOperand)
LOCUS_UNARY_FUNCTION(isnan, functor::IsNan, detail::DifferentiableOperand)
LOCUS_UNARY_FUNCTION(isinf, functor::IsInf, detail::DifferentiableOperand)

// hypot: sqrt(x^2 + y^2) without overflow. xlogy: x log y, but 0 where x is 0 and y is not NaN. copysign: |x| with the
// sign of y.
LOCUS_BINARY_FUNCTION(hypot, functor::Hypot, detail::CombinableFloating)
LOCUS_BINARY_FUNCTION(xlogy, functor::Xlogy, detail::CombinableFloating)
LOCUS_BINARY_FUNCTION(copysign, functor::Copysign, detail::CombinableFloating)

/// The remainder of x / y with the sign of x, as in C; x % y has the sign of y. Integers by zero give 0. Floats cost a
/// library call for each element.
template <class L, class R>
  requires detail::CombinableReal<L, R>
[[nodiscard]] auto fmod(L&& x, R&& y) {
  return detail::pending(functor::Fmod{}, std::forward<L>(x), std::forward<R>(y));
}

/// The inverse of sigmoid, with x limited to [eps, 1 - eps].
template <detail::FloatingOperand X>
[[nodiscard]] auto logit(X&& x, double eps) {
  using R = detail::option_t<value_of<X>>;
  const auto bound = detail::finite_as<R>("logit", "eps", eps);
  return detail::pending(functor::Logit{},
                         detail::pending(functor::Clamp{}, std::forward<X>(x), bound, static_cast<R>(1) - bound));
}

/// a + w (b - a); the weight a number or a tensor. Exactly a for w = 0, exactly b for w = 1.
template <TensorLike A, class B, class W>
  requires(detail::FloatingOrNumber<A> && detail::CombinablePair<A, B> && detail::CombinablePair<A, W> &&
           detail::NotParametersAlone<A, B, W>)
[[nodiscard]] auto lerp(A&& a, B&& b, W&& weight) {
  return detail::pending(functor::Lerp{}, std::forward<A>(a), std::forward<B>(b), std::forward<W>(weight));
}

/// x + value a b, in one launch
template <TensorLike X, class A, class B, Scalar V = int>
  requires(detail::CombinablePair<X, A> && detail::CombinablePair<X, B> && detail::NotParametersAlone<X, A, B> &&
           detail::ScalarFits<V, value_of<X>>)
[[nodiscard]] auto addcmul(X&& x, A&& a, B&& b, V value = 1) {
  return detail::pending(functor::Addcmul{}, std::forward<X>(x), std::forward<A>(a), std::forward<B>(b), value);
}
/// x + value a / b, in one launch, of floating-point numbers
template <TensorLike X, class A, class B>
  requires(detail::FloatingOrNumber<X> && detail::CombinablePair<X, A> && detail::CombinablePair<X, B> &&
           detail::NotParametersAlone<X, A, B>)
[[nodiscard]] auto addcdiv(X&& x, A&& a, B&& b, double value = 1) {
  return detail::pending(functor::Addcdiv{}, std::forward<X>(x), std::forward<A>(a), std::forward<B>(b), value);
}

/// Replacements of NaN and infinities, limited to the range of the element type: by default infinities become its
/// largest and its lowest number.
struct NumberFor {
  double nan = 0, posinf = std::numeric_limits<double>::max(), neginf = std::numeric_limits<double>::lowest();
};

namespace detail {
/// The number of T nearest to x; NaN and infinities stay.
template <class T>
[[nodiscard]] option_t<T> nearest_of(double x) {
  constexpr double most = std::is_same_v<T, half>              ? 65504.0
                          : std::is_same_v<T, bfloat16>        ? 0x1.fep127
                          : std::is_same_v<primal_t<T>, float> ? 0x1.fffffep127
                                                               : std::numeric_limits<double>::max();
  return static_cast<option_t<T>>(x - x == 0 ? within(x, -most, most) : x);
}
}  // namespace detail

/// x with NaN and infinities replaced, without gradient there: nan_to_num(x), nan_to_num(x, {.nan = -1}).
template <detail::FloatingOperand X>
[[nodiscard]] auto nan_to_num(X&& x, const NumberFor& number = {}) {
  using T = value_of<X>;
  using detail::nearest_of;
  return detail::pending(functor::NanToNum<detail::option_t<T>>{nearest_of<T>(number.nan), nearest_of<T>(number.posinf),
                                                                nearest_of<T>(number.neginf)},
                         std::forward<X>(x));
}

}}  // namespace locus::LOCUS_ABI
