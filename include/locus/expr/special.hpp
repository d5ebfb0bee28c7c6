#pragma once
// Special functions: torch.special and scipy.special. Not part of locus/locus.hpp. Double has about 14 digits, float
// its own precision: functions and derivatives of both are computed in double.

#include <locus/core/math/beta.hpp>
#include <locus/core/math/normal.hpp>
#include <locus/expr/functions.hpp>

namespace locus { inline namespace LOCUS_ABI { namespace functor {

struct I0 {
  static constexpr bool takes_long = true;
  template <class T> LOCUS_FN T operator()(T x) const { return math::i0(x); }
  template <class T> LOCUS_FN T by_input(T x) const { return math::i1(x); }
};
struct I0e {
  static constexpr bool takes_long = true;
  template <class T> LOCUS_FN T operator()(T x) const { return math::i0e(x); }
  template <class T>
  LOCUS_FN T by_input(T x) const {
    using W = detail::wide_t<T>;
    const W z = static_cast<W>(x), y = math::i0e(z);
    return static_cast<T>(math::i1e(z) - (z > W(0) ? y : z < W(0) ? -y : W(0)));
  }
};
struct I1 {
  static constexpr bool takes_long = true;
  template <class T> LOCUS_FN T operator()(T x) const { return math::i1(x); }
  template <class T>
  LOCUS_FN T by_input(T x) const {
    const auto z = static_cast<detail::wide_t<T>>(x);
    return static_cast<T>(is_small(z) ? slope_near_zero(z) : math::i0(z) - math::i1(z) / z);
  }
  /// Where the quotient i1(x) / x has a slope that cancels.
  template <class T> [[nodiscard]] LOCUS_FN static bool is_small(T x) { return x * x < T(0.25); }
  /// The series of the derivative, for small x.
  template <class T>
  [[nodiscard]] LOCUS_FN static T slope_near_zero(T x) {
    T term(0.5), sum(0.5);
    for (int k = 1; k < 9; ++k) {
      term *= x * x / T(4 * k * (k + 1));
      sum += T(2 * k + 1) * term;
    }
    return sum;
  }
};
struct I1e {
  static constexpr bool takes_long = true;
  template <class T> LOCUS_FN T operator()(T x) const { return math::i1e(x); }
  template <class T>
  LOCUS_FN T by_input(T x) const {
    using W = detail::wide_t<T>;
    const W z = static_cast<W>(x), y = math::i1e(z), size = z > W(0) ? z : -z, decay = z > W(0) ? y : -y;
    const W slope = I1::is_small(z) ? math::exp(-size) * I1::slope_near_zero(z) : math::i0e(z) - y / z;
    return static_cast<T>(slope - decay);
  }
};

struct Erfcx {
  static constexpr bool takes_long = true;
  template <class T> LOCUS_FN T operator()(T x) const { return math::erfcx(x); }
  template <class T>
  LOCUS_FN T by_input(T x) const {
    using W = detail::wide_t<T>;
    const W z = static_cast<W>(x);
    return static_cast<T>(W(2.0) * z * math::erfcx(z) - W(1.1283791670955126));
  }
};
struct Ndtr {
  static constexpr bool takes_long = true;
  template <class R>
  LOCUS_FN Dual<R> by_input(Dual<R> x) const {
    return Dual<R>(0.3989422804014327) * math::exp(Dual<R>(-0.5) * x * x);
  }
  template <class T> LOCUS_FN T operator()(T x) const { return math::ndtr(x); }
  template <class T>
  LOCUS_FN T by_input(T x) const {
    return static_cast<T>(0.3989422804014327 * math::detail::exp_of_square(static_cast<double>(x), -0.5));
  }
};
/// The derivative is the density over ndtr, by erfcx, so that neither underflows.
struct LogNdtr {
  static constexpr bool takes_long = true;
  template <class T> LOCUS_FN T operator()(T x) const { return math::log_ndtr(x); }
  template <class T>
  LOCUS_FN T by_input(T x) const {
    return T(0.7978845608028654) / math::erfcx(T(-0.7071067811865476) * x);
  }
};
struct Ndtri {
  static constexpr bool takes_long = true;
  template <class R>
  LOCUS_FN Dual<R> by_output(Dual<R> y) const {
    return Dual<R>(2.5066282746310002) * math::exp(Dual<R>(0.5) * y * y);
  }
  template <class T> LOCUS_FN T operator()(T p) const { return math::ndtri(p); }
  template <class T>
  LOCUS_FN T by_output(T y) const {
    return static_cast<T>(2.5066282746310002 * math::detail::exp_of_square(static_cast<double>(y), 0.5));
  }
};
struct Sinc {
  static constexpr bool takes_long = true;
  template <class T> LOCUS_FN T operator()(T x) const { return math::sinc(x); }
  template <class T> LOCUS_FN T by_input(T x) const { return math::sinc_slope(x); }
};
struct SincSlope {
  template <class T> LOCUS_FN T operator()(T x) const { return math::sinc_slope(x); }
  template <class T> LOCUS_FN T by_input(T x) const { return math::sinc_curvature(x); }
};
struct Entr {
  template <class T> LOCUS_FN T operator()(T x) const { return math::entr(x); }
  template <class T> LOCUS_FN T by_input(T x) const { return -math::log(x) - T(1); }
};
/// The derivative by x is log(1 + y), except that it is 0 at x = 0 for y <= -1.
struct Xlog1py {
  static constexpr unsigned reads(int) { return 3u; }
  template <class T> LOCUS_FN T operator()(T x, T y) const { return math::xlog1py(x, y); }
  template <class T>
  LOCUS_FN Pack<T, T> by_inputs(T x, T y) const {
    return {x == T(0) && y <= T(-1) ? T(0) : math::log1p(y), x / (T(1) + y)};
  }
};

struct Polygamma {
  static constexpr bool takes_long = true;
  int order;
  template <class T> LOCUS_FN T operator()(T x) const { return math::polygamma(order, x); }
  template <class T> LOCUS_FN T by_input(T x) const { return math::polygamma(order + 1, x); }
};
struct Mvlgamma {
  static constexpr bool takes_long = true;
  int dimension;
  template <class T> LOCUS_FN T operator()(T x) const { return math::mvlgamma(x, dimension); }
  template <class T> LOCUS_FN T by_input(T x) const { return math::mvlgamma_slope(x, dimension); }
};
/// Has no derivative by s: zeta() refuses a traced one.
struct Zeta {
  static constexpr bool takes_long = true;
  template <class T> LOCUS_FN T operator()(T s, T q) const { return math::zeta(s, q); }
  template <class T>
  LOCUS_FN Pack<T, T> by_inputs(T s, T q) const {
    return {static_cast<T>(__builtin_nan("")), -s * math::zeta(s + T(1), q)};
  }
};
struct Lbeta {
  static constexpr bool takes_long = true;
  static constexpr unsigned reads(int) { return 3u; }
  template <class T> LOCUS_FN T operator()(T a, T b) const { return math::lbeta(a, b); }
  template <class T>
  LOCUS_FN Pack<T, T> by_inputs(T a, T b) const {
    return {-math::digamma_gain(a, b), -math::digamma_gain(b, a)};
  }
};
/// gammainc, or gammaincc where `sign` is -1. The second derivative by a is NaN.
template <int sign>
struct IncompleteGamma {
  static constexpr bool takes_long = true;
  static constexpr unsigned reads(int) { return 3u; }
  template <class T>
  LOCUS_FN T operator()(T a, T x) const {
    return sign > 0 ? math::gammainc(a, x) : math::gammaincc(a, x);
  }
  template <class T>
  LOCUS_FN Pack<T, T> by_inputs(T a, T x) const {
    const double p = static_cast<double>(a), z = static_cast<double>(x), density = math::gammainc_slope(p, z);
    const double by_a = z == 0.0 || density == 0.0 ? 0.0 : density * math::gamma_slope(p, z);
    return {static_cast<T>(-sign * by_a), static_cast<T>(sign * density)};
  }
  template <class R>
  LOCUS_FN Pack<Dual<R>, Dual<R>> by_inputs(Dual<R> a, Dual<R> x) const {
    const auto slopes = by_inputs(a.value, x.value);
    const R density = get<1>(slopes);
    const R by_a = density == R(0) ? R(0) : density * (math::log(x.value) - math::digamma(a.value));
    const R by_x = density == R(0) ? R(0) : density * ((a.value - R(1)) / x.value - R(1));
    const R none = detail::is_zero(a.tangent) ? R(0) : static_cast<R>(__builtin_nan(""));
    return {Dual<R>(get<0>(slopes), by_a * x.tangent + none), Dual<R>(density, by_a * a.tangent + by_x * x.tangent)};
  }
};
/// Has no derivative by a and b: betainc() refuses traced ones.
struct Betainc {
  static constexpr bool takes_long = true;
  template <class T> LOCUS_FN T operator()(T a, T b, T x) const { return math::betainc(a, b, x); }
  template <class T>
  LOCUS_FN Pack<T, T, T> by_inputs(T a, T b, T x) const {
    const T none = static_cast<T>(__builtin_nan(""));
    return {none, none, math::betainc_slope(a, b, x)};
  }
};

}}}  // namespace locus::LOCUS_ABI::functor

// Of duals, for derivatives of higher order.
namespace locus { inline namespace LOCUS_ABI { namespace math {

#define LOCUS_DUAL_FUNCTION(name, Functor)                \
  template <class R>                                      \
  LOCUS_FN Dual<R> name(Dual<R> x) {                      \
    return locus::detail::applied(functor::Functor{}, x); \
  }
LOCUS_DUAL_FUNCTION(i0, I0)
LOCUS_DUAL_FUNCTION(i0e, I0e)
LOCUS_DUAL_FUNCTION(i1, I1)
LOCUS_DUAL_FUNCTION(i1e, I1e)
LOCUS_DUAL_FUNCTION(erfcx, Erfcx)
LOCUS_DUAL_FUNCTION(sinc, Sinc)
LOCUS_DUAL_FUNCTION(sinc_slope, SincSlope)
#undef LOCUS_DUAL_FUNCTION

template <class R>
LOCUS_FN Dual<R> zeta(Dual<R> s, Dual<R> q) {
  return locus::detail::applied(functor::Zeta{}, s, q);
}
template <class R>
LOCUS_FN Dual<R> polygamma(int n, Dual<R> x) {
  return locus::detail::applied(functor::Polygamma{n}, x);
}
template <class R>
LOCUS_FN Dual<R> mvlgamma_slope(Dual<R> x, int p) {
  Dual<R> sum;
  for (int j = 0; j < p; ++j) sum += digamma(x - Dual<R>(0.5 * j));
  return sum;
}
template <class R>
LOCUS_FN Dual<R> digamma_gain(Dual<R> a, Dual<R> b) {
  const R of_sum = trigamma(a.value + b.value);
  return {digamma_gain(a.value, b.value), (of_sum - trigamma(a.value)) * a.tangent + of_sum * b.tangent};
}
/// By x alone; NaN where a or b has a tangent.
template <class R>
LOCUS_FN Dual<R> betainc_slope(Dual<R> a, Dual<R> b, Dual<R> x) {
  const R density = betainc_slope(a.value, b.value, x.value);
  const R slope = (a.value - R(1)) / x.value - (b.value - R(1)) / (R(1) - x.value);
  const bool is_known = locus::detail::is_zero(a.tangent) && locus::detail::is_zero(b.tangent);
  const R by_x = locus::detail::is_zero(x.tangent) ? R(0) : density * slope * x.tangent;
  return {density, is_known ? by_x : static_cast<R>(__builtin_nan(""))};
}

}}}  // namespace locus::LOCUS_ABI::math

namespace locus { inline namespace LOCUS_ABI {

namespace detail {
/// An argument by which a function has no derivative: a plain tensor of numbers, or a number.
template <class X>
concept WithoutGradient = !TensorLike<X> || (bare_t<X>::role == Role::plain && !is_dual<value_of<X>>);

template <class A, class B, class X>
concept BetaOperands =
    TensorLike<X> && FloatingOrNumber<X> && CombinablePair<X, A> && CombinablePair<X, B> && NotParametersAlone<X, A, B>;
}  // namespace detail

// i0, i1: modified Bessel functions of the first kind; i0e, i1e times e^-|x|. erfcx: e^(x^2) erfc(x). ndtr: the normal
// distribution function; log_ndtr its logarithm, ndtri its inverse. sinc: sin(pi x) / (pi x). entr: -x log x.
LOCUS_UNARY_FUNCTION(i0, functor::I0, detail::FloatingOperand)
LOCUS_UNARY_FUNCTION(i0e, functor::I0e, detail::FloatingOperand)
LOCUS_UNARY_FUNCTION(i1, functor::I1, detail::FloatingOperand)
LOCUS_UNARY_FUNCTION(i1e, functor::I1e, detail::FloatingOperand)
LOCUS_UNARY_FUNCTION(erfcx, functor::Erfcx, detail::FloatingOperand)
LOCUS_UNARY_FUNCTION(ndtr, functor::Ndtr, detail::FloatingOperand)
LOCUS_UNARY_FUNCTION(log_ndtr, functor::LogNdtr, detail::FloatingOperand)
LOCUS_UNARY_FUNCTION(ndtri, functor::Ndtri, detail::FloatingOperand)
LOCUS_UNARY_FUNCTION(sinc, functor::Sinc, detail::FloatingOperand)
LOCUS_UNARY_FUNCTION(entr, functor::Entr, detail::FloatingOperand)

// xlog1py(x, y): x log(1 + y), but 0 where x is 0 and y is not NaN. lbeta(a, b): the logarithm of the beta function.
// gammainc(a, x), gammaincc(a, x): the regularized lower and upper incomplete gamma functions, also with a gradient by
// a; torch.special has none.
LOCUS_BINARY_FUNCTION(xlog1py, functor::Xlog1py, detail::CombinableFloating)
LOCUS_BINARY_FUNCTION(lbeta, functor::Lbeta, detail::CombinableFloating)
LOCUS_BINARY_FUNCTION(gammainc, functor::IncompleteGamma<1>, detail::CombinableFloating)
LOCUS_BINARY_FUNCTION(gammaincc, functor::IncompleteGamma<-1>, detail::CombinableFloating)

/// The n-th derivative of digamma. throws ArgumentError for n < 0
template <detail::FloatingOperand X>
[[nodiscard]] auto polygamma(int n, X&& x) {
  if (n < 0) fail<ArgumentError>({"polygamma: an order of ", n, "; expected 0 or more"});
  return detail::pending(functor::Polygamma{n}, std::forward<X>(x));
}
/// The logarithm of the multivariate gamma function: p (p - 1) / 4 log pi + lgamma(x) + ... + lgamma(x - (p - 1) / 2).
/// throws ArgumentError for p < 1
template <detail::FloatingOperand X>
[[nodiscard]] auto mvlgamma(X&& x, int p) {
  if (p < 1) fail<ArgumentError>({"mvlgamma: a dimension of ", p, "; expected 1 or more"});
  return detail::pending(functor::Mvlgamma{p}, std::forward<X>(x));
}
/// Hurwitz's zeta function, the sum of (q + k)^-s over k = 0, 1, ... A number or a tensor s has no gradient.
template <detail::WithoutGradient S, class Q>
  requires detail::CombinableFloating<S, Q>
[[nodiscard]] auto zeta(S&& s, Q&& q) {
  return detail::pending(functor::Zeta{}, std::forward<S>(s), std::forward<Q>(q));
}
/// The regularized incomplete beta function: scipy.special.betainc. Numbers or tensors a and b have no gradient.
template <detail::WithoutGradient A, detail::WithoutGradient B, class X>
  requires detail::BetaOperands<A, B, X>
[[nodiscard]] auto betainc(A&& a, B&& b, X&& x) {
  return detail::pending(functor::Betainc{}, std::forward<A>(a), std::forward<B>(b), std::forward<X>(x));
}

#include <locus/refuse/expr/special.inc>

}}  // namespace locus::LOCUS_ABI
