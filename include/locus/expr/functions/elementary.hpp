#pragma once
// Powers, exponentials, logarithms, rounding, trigonometry. functors.hpp lists the members of a class.

#include <locus/core/math.hpp>
#include <locus/core/math/complex.hpp>
#include <locus/expr/functions/declare.hpp>

namespace locus { inline namespace LOCUS_ABI { namespace functor {

// Powers, exponentials, logarithms.

struct Exp {
  template <class T> LOCUS_FN T operator()(T x) const { return math::exp(x); }
  template <class T> LOCUS_FN T by_output(T y) const { return y; }
};
struct Expm1 {
  template <class T> LOCUS_FN T operator()(T x) const { return math::expm1(x); }
  template <class T> LOCUS_FN T by_output(T y) const { return y + T(1); }
};
struct Log {
  template <class T> LOCUS_FN T operator()(T x) const { return math::log(x); }
  template <class T> LOCUS_FN T by_input(T x) const { return T(1) / x; }
};
struct Log1p {
  template <class T> LOCUS_FN T operator()(T x) const { return math::log1p(x); }
  template <class T> LOCUS_FN T by_input(T x) const { return T(1) / (T(1) + x); }
};
struct Sqrt {
  template <class T> LOCUS_FN T operator()(T x) const { return math::sqrt(x); }
  template <class T> LOCUS_FN T by_output(T y) const { return T(0.5) / y; }
};
struct Rsqrt {
  template <class T> LOCUS_FN T operator()(T x) const { return math::rsqrt(x); }
  template <class T> LOCUS_FN T by_output(T y) const { return T(-0.5) * y * y * y; }
};
struct Square {
  template <class T> LOCUS_FN T operator()(T x) const { return Multiply{}(x, x); }
  template <class T> LOCUS_FN T by_input(T x) const { return T(2) * x; }
};
struct Reciprocal {
  template <class T> LOCUS_FN T operator()(T x) const { return T(1) / x; }
  template <class T> LOCUS_FN T by_output(T y) const { return -y * y; }
};
struct Erf {
  template <class T> LOCUS_FN T operator()(T x) const { return math::erf(x); }
  template <class T>
  LOCUS_FN T by_input(T x) const {
    return T(1.1283791670955126) * math::exp(-x * x);
  }  // 2 / sqrt(pi)
};

// Signs and rounding.

struct Abs {
  template <class T>
  LOCUS_FN T operator()(T x) const {
    if constexpr (std::is_unsigned_v<T>) return x;
    else return x < T(0) ? Negate{}(x) : x == T(0) ? T(0) : x;
  }
  template <class T> LOCUS_FN T by_input(T x) const { return x > T(0) ? T(1) : x < T(0) ? T(-1) : T(0); }
};
/// |z| of a complex number; at 0 the gradient is 0.
template <class R>
struct Magnitude {
  using gives = R;
  LOCUS_FN R operator()(const Complex<R>& z) const { return math::abs(z); }
  LOCUS_FN Pack<Complex<R>> pullback(R g, R size, const Complex<R>& z) const {
    return {size == R(0) ? Complex<R>(0) : g * (z / size)};
  }
};
struct Sign {
  template <class T>
  LOCUS_FN T operator()(T x) const {
    if constexpr (std::is_unsigned_v<T>) return static_cast<T>(x > T(0));
    else return x > T(0) ? T(1) : x < T(0) ? T(-1) : x;
  }
  template <class T> LOCUS_FN T by_input(T) const { return T(0); }
};
struct Floor {
  template <class T> LOCUS_FN T operator()(T x) const { return math::floor(x); }
  template <class T> LOCUS_FN T by_input(T) const { return T(0); }
};
struct Ceil {
  template <class T> LOCUS_FN T operator()(T x) const { return math::ceil(x); }
  template <class T> LOCUS_FN T by_input(T) const { return T(0); }
};
/// To the nearest integer, halves to the even one.
struct Round {
  template <class T> LOCUS_FN T operator()(T x) const { return math::round(x); }
  template <class T> LOCUS_FN T by_input(T) const { return T(0); }
};

// Trigonometry.

struct Sin {
  template <class T> LOCUS_FN T operator()(T x) const { return math::sin(x); }
  template <class T> LOCUS_FN T by_input(T x) const { return math::cos(x); }
};
struct Cos {
  template <class T> LOCUS_FN T operator()(T x) const { return math::cos(x); }
  template <class T> LOCUS_FN T by_input(T x) const { return -math::sin(x); }
};

}}}  // namespace locus::LOCUS_ABI::functor

namespace locus { inline namespace LOCUS_ABI {

LOCUS_UNARY_FUNCTION(exp, functor::Exp, detail::DifferentiableOperand)
LOCUS_UNARY_FUNCTION(expm1, functor::Expm1, detail::FloatingOperand)
LOCUS_UNARY_FUNCTION(log, functor::Log, detail::DifferentiableOperand)
LOCUS_UNARY_FUNCTION(log1p, functor::Log1p, detail::FloatingOperand)
LOCUS_UNARY_FUNCTION(sqrt, functor::Sqrt, detail::DifferentiableOperand)
LOCUS_UNARY_FUNCTION(rsqrt, functor::Rsqrt, detail::DifferentiableOperand)
LOCUS_UNARY_FUNCTION(square, functor::Square, detail::Operand)
LOCUS_UNARY_FUNCTION(reciprocal, functor::Reciprocal, detail::DifferentiableOperand)
LOCUS_UNARY_FUNCTION(erf, functor::Erf, detail::FloatingOperand)
LOCUS_UNARY_FUNCTION(abs, functor::Abs, detail::RealOperand)
/// The distance of complex numbers from 0.
template <detail::ComplexOperand X>
[[nodiscard]] auto abs(X&& x) {
  return detail::pending(functor::Magnitude<real_t<value_of<X>>>{}, std::forward<X>(x));
}
LOCUS_UNARY_FUNCTION(sign, functor::Sign, detail::RealOperand)
LOCUS_UNARY_FUNCTION(floor, functor::Floor, detail::FloatingOperand)
LOCUS_UNARY_FUNCTION(ceil, functor::Ceil, detail::FloatingOperand)
LOCUS_UNARY_FUNCTION(round, functor::Round, detail::FloatingOperand)
LOCUS_UNARY_FUNCTION(sin, functor::Sin, detail::DifferentiableOperand)
LOCUS_UNARY_FUNCTION(cos, functor::Cos, detail::DifferentiableOperand)

}}  // namespace locus::LOCUS_ABI
