#pragma once
// Inverse and hyperbolic trigonometry. functors.hpp lists the members of a class.

#include <locus/core/math/hyperbolic.hpp>
#include <locus/core/math/inverse_trigonometric.hpp>
#include <locus/core/math/logarithms.hpp>
#include <locus/expr/functions/declare.hpp>

namespace locus { inline namespace LOCUS_ABI { namespace functor {

struct Tan {
  template <class T> LOCUS_FN T operator()(T x) const { return math::tan(x); }
  template <class T> LOCUS_FN T by_output(T y) const { return T(1) + y * y; }
};
struct Asin {
  template <class T> LOCUS_FN T operator()(T x) const { return math::asin(x); }
  template <class T> LOCUS_FN T by_input(T x) const { return T(1) / math::sqrt((T(1) - x) * (T(1) + x)); }
};
struct Acos {
  template <class T> LOCUS_FN T operator()(T x) const { return math::acos(x); }
  template <class T> LOCUS_FN T by_input(T x) const { return T(-1) / math::sqrt((T(1) - x) * (T(1) + x)); }
};
struct Atan {
  template <class T> LOCUS_FN T operator()(T x) const { return math::atan(x); }
  template <class T> LOCUS_FN T by_input(T x) const { return T(1) / (T(1) + x * x); }
};
/// The angle of (x, y). At the origin the gradient is 0.
struct Atan2 {
  template <class T> LOCUS_FN T operator()(T y, T x) const { return math::atan2(y, x); }
  template <class T>
  LOCUS_FN Pack<T, T> by_inputs(T y, T x) const {
    const T r = math::hypot(y, x), by_y = x / r / r, by_x = -y / r / r;
    return {r == T(0) ? T(0) : by_y, r == T(0) ? T(0) : by_x};
  }
};

struct Sinh {
  template <class T> LOCUS_FN T operator()(T x) const { return math::sinh(x); }
  template <class T> LOCUS_FN T by_input(T x) const { return math::cosh(x); }
};
struct Cosh {
  template <class T> LOCUS_FN T operator()(T x) const { return math::cosh(x); }
  template <class T> LOCUS_FN T by_input(T x) const { return math::sinh(x); }
};
struct Asinh {
  template <class T> LOCUS_FN T operator()(T x) const { return math::asinh(x); }
  template <class T> LOCUS_FN T by_input(T x) const { return T(1) / math::hypot(x, T(1)); }
};
struct Acosh {
  template <class T> LOCUS_FN T operator()(T x) const { return math::acosh(x); }
  template <class T> LOCUS_FN T by_input(T x) const { return T(1) / (math::sqrt(x - T(1)) * math::sqrt(x + T(1))); }
};
struct Atanh {
  template <class T> LOCUS_FN T operator()(T x) const { return math::atanh(x); }
  template <class T> LOCUS_FN T by_input(T x) const { return T(1) / ((T(1) - x) * (T(1) + x)); }
};

}}}  // namespace locus::LOCUS_ABI::functor

namespace locus { inline namespace LOCUS_ABI {

LOCUS_UNARY_FUNCTION(tan, functor::Tan, detail::DifferentiableOperand)
LOCUS_UNARY_FUNCTION(asin, functor::Asin, detail::FloatingOperand)
LOCUS_UNARY_FUNCTION(acos, functor::Acos, detail::FloatingOperand)
LOCUS_UNARY_FUNCTION(atan, functor::Atan, detail::FloatingOperand)
LOCUS_UNARY_FUNCTION(sinh, functor::Sinh, detail::DifferentiableOperand)
LOCUS_UNARY_FUNCTION(cosh, functor::Cosh, detail::DifferentiableOperand)
LOCUS_UNARY_FUNCTION(asinh, functor::Asinh, detail::FloatingOperand)
LOCUS_UNARY_FUNCTION(acosh, functor::Acosh, detail::FloatingOperand)
LOCUS_UNARY_FUNCTION(atanh, functor::Atanh, detail::FloatingOperand)

// atan2(y, x): the angle of the point (x, y).
LOCUS_BINARY_FUNCTION(atan2, functor::Atan2, detail::CombinableFloating)

}}  // namespace locus::LOCUS_ABI
