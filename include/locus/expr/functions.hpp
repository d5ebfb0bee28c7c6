#pragma once
// More elementwise functions, as in operators.hpp: pending expressions with a gradient. For float on the CPU, functions
// of one number are within 1 ulp and take about 1 ns per element and thread; lgamma, digamma and erfinv do not
// vectorize and take 40 ns. On a GPU they are the CUDA toolkit's. NaN gives NaN.

#include <locus/expr/functors/special.hpp>
#include <locus/expr/functors/trigonometric.hpp>
#include <locus/expr/operators.hpp>

namespace locus { inline namespace LOCUS_ABI {

#define LOCUS_UNARY(name, Functor)                         \
  template <detail::FloatingOperand X>                     \
  [[nodiscard]] auto name(X&& x) {                         \
    return detail::pending(Functor{}, std::forward<X>(x)); \
  }

LOCUS_UNARY(tan, functor::Tan)
LOCUS_UNARY(asin, functor::Asin)
LOCUS_UNARY(acos, functor::Acos)
LOCUS_UNARY(atan, functor::Atan)
LOCUS_UNARY(sinh, functor::Sinh)
LOCUS_UNARY(cosh, functor::Cosh)
LOCUS_UNARY(asinh, functor::Asinh)
LOCUS_UNARY(acosh, functor::Acosh)
LOCUS_UNARY(atanh, functor::Atanh)
LOCUS_UNARY(exp2, functor::Exp2)
LOCUS_UNARY(log2, functor::Log2)
LOCUS_UNARY(log10, functor::Log10)
LOCUS_UNARY(cbrt, functor::Cbrt)
LOCUS_UNARY(erfc, functor::Erfc)
LOCUS_UNARY(erfinv, functor::Erfinv)
LOCUS_UNARY(lgamma, functor::Lgamma)
LOCUS_UNARY(digamma, functor::Digamma)
LOCUS_UNARY(logit, functor::Logit)
LOCUS_UNARY(trunc, functor::Trunc)
LOCUS_UNARY(isnan, functor::IsNan)
LOCUS_UNARY(isinf, functor::IsInf)

#undef LOCUS_UNARY

// Functions of two floating-point operands, tensors or numbers. atan2(y, x): the angle of the point (x, y). hypot:
// sqrt(x^2 + y^2) without overflow. xlogy: x log y, but 0 where x is 0 and y is not NaN. copysign: |x| with the sign of
// y.

#define LOCUS_BINARY(name, Functor)                                                          \
  template <class L, class R>                                                                \
    requires(Combinable<L, R> && detail::FloatingOrNumber<L> && detail::FloatingOrNumber<R>) \
  [[nodiscard]] auto name(L&& left, R&& right) {                                             \
    return detail::pending(Functor{}, std::forward<L>(left), std::forward<R>(right));        \
  }

LOCUS_BINARY(atan2, functor::Atan2)
LOCUS_BINARY(hypot, functor::Hypot)
LOCUS_BINARY(xlogy, functor::Xlogy)
LOCUS_BINARY(copysign, functor::Copysign)

#undef LOCUS_BINARY

/// The remainder of x / y with the sign of x, as in C; x % y has the sign of y. Integers by zero give 0. Floats cost a
/// library call for each element.
template <class L, class R>
  requires Combinable<L, R>
[[nodiscard]] auto fmod(L&& x, R&& y) {
  return detail::pending(functor::Fmod{}, std::forward<L>(x), std::forward<R>(y));
}

/// The inverse of sigmoid, with x limited to [eps, 1 - eps].
template <detail::FloatingOperand X>
[[nodiscard]] auto logit(X&& x, double eps) {
  using R = compute_t<value_of<X>>;
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
[[nodiscard]] compute_t<T> nearest_of(double x) {
  constexpr double most = std::is_same_v<T, half>       ? 65504.0
                          : std::is_same_v<T, bfloat16> ? 0x1.fep127
                          : std::is_same_v<T, float>    ? 0x1.fffffep127
                                                        : std::numeric_limits<double>::max();
  return static_cast<compute_t<T>>(x - x == 0 ? within(x, -most, most) : x);
}
}  // namespace detail

/// x with NaN and infinities replaced, without gradient there: nan_to_num(x), nan_to_num(x, {.nan = -1}).
template <detail::FloatingOperand X>
[[nodiscard]] auto nan_to_num(X&& x, const NumberFor& number = {}) {
  using T = value_of<X>;
  using detail::nearest_of;
  return detail::pending(functor::NanToNum<compute_t<T>>{nearest_of<T>(number.nan), nearest_of<T>(number.posinf),
                                                         nearest_of<T>(number.neginf)},
                         std::forward<X>(x));
}

#include <locus/refuse/expr/functions.inc>

}}  // namespace locus::LOCUS_ABI
