#pragma once
// The scalar functions of core/math for duals, by the derivatives that stand beside the functors. Programs that compute
// with duals include autograd/forward_mode.hpp, which includes this.

#include <locus/core/dual.hpp>
#include <locus/expr/activations.hpp>
#include <locus/expr/functions.hpp>
#include <locus/expr/functions/special.hpp>
#include <locus/expr/functions/trigonometric.hpp>

namespace locus { inline namespace LOCUS_ABI { namespace functor {

/// e^x for x <= 0, as math::exp_of_negative.
struct ExpOfNegative {
  template <class T> LOCUS_FN T operator()(T x) const { return math::exp_of_negative(x); }
  template <class T> LOCUS_FN T by_output(T y) const { return y; }
};
/// The derivative of gelu, Phi(x) + x phi(x), whose own derivative is phi(x) (2 - x^2).
struct GeluSlope {
  template <class T> LOCUS_FN T operator()(T x) const { return math::gelu_slope(x); }
  template <class T>
  LOCUS_FN T by_input(T x) const {
    return T(0.3989422804014327) * math::exp(T(-0.5) * x * x) * (T(2) - x * x);
  }
};

}}}  // namespace locus::LOCUS_ABI::functor

namespace locus { inline namespace LOCUS_ABI { namespace math {

#define LOCUS_DUAL_FUNCTION(name, Functor)                \
  template <class R>                                      \
  LOCUS_FN Dual<R> name(Dual<R> x) {                      \
    return locus::detail::applied(functor::Functor{}, x); \
  }
#define LOCUS_DUAL_FUNCTION_OF_TWO(name, Functor)            \
  template <class R>                                         \
  LOCUS_FN Dual<R> name(Dual<R> x, Dual<R> y) {              \
    return locus::detail::applied(functor::Functor{}, x, y); \
  }

LOCUS_DUAL_FUNCTION(exp, Exp)
LOCUS_DUAL_FUNCTION(exp2, Exp2)
LOCUS_DUAL_FUNCTION(expm1, Expm1)
LOCUS_DUAL_FUNCTION(exp_of_negative, ExpOfNegative)
LOCUS_DUAL_FUNCTION(log, Log)
LOCUS_DUAL_FUNCTION(log2, Log2)
LOCUS_DUAL_FUNCTION(log10, Log10)
LOCUS_DUAL_FUNCTION(log1p, Log1p)
LOCUS_DUAL_FUNCTION(sqrt, Sqrt)
LOCUS_DUAL_FUNCTION(rsqrt, Rsqrt)
LOCUS_DUAL_FUNCTION(cbrt, Cbrt)
LOCUS_DUAL_FUNCTION(sin, Sin)
LOCUS_DUAL_FUNCTION(cos, Cos)
LOCUS_DUAL_FUNCTION(tan, Tan)
LOCUS_DUAL_FUNCTION(asin, Asin)
LOCUS_DUAL_FUNCTION(acos, Acos)
LOCUS_DUAL_FUNCTION(atan, Atan)
LOCUS_DUAL_FUNCTION(sinh, Sinh)
LOCUS_DUAL_FUNCTION(cosh, Cosh)
LOCUS_DUAL_FUNCTION(tanh, Tanh)
LOCUS_DUAL_FUNCTION(asinh, Asinh)
LOCUS_DUAL_FUNCTION(acosh, Acosh)
LOCUS_DUAL_FUNCTION(atanh, Atanh)
LOCUS_DUAL_FUNCTION(erf, Erf)
LOCUS_DUAL_FUNCTION(erfc, Erfc)
LOCUS_DUAL_FUNCTION(erfinv, Erfinv)
LOCUS_DUAL_FUNCTION(lgamma, Lgamma)
LOCUS_DUAL_FUNCTION(digamma, Digamma)
LOCUS_DUAL_FUNCTION(logit, Logit)
LOCUS_DUAL_FUNCTION(sigmoid, Sigmoid)
LOCUS_DUAL_FUNCTION(silu, Silu)
LOCUS_DUAL_FUNCTION(softplus, Softplus)
LOCUS_DUAL_FUNCTION(mish, Mish)
LOCUS_DUAL_FUNCTION(gelu, Gelu)
LOCUS_DUAL_FUNCTION(gelu_exact, GeluExact)
LOCUS_DUAL_FUNCTION(gelu_slope, GeluSlope)
LOCUS_DUAL_FUNCTION(gelu_tanh, GeluTanh)
LOCUS_DUAL_FUNCTION(floor, Floor)
LOCUS_DUAL_FUNCTION(ceil, Ceil)
LOCUS_DUAL_FUNCTION(trunc, Trunc)
LOCUS_DUAL_FUNCTION(round, Round)

LOCUS_DUAL_FUNCTION_OF_TWO(pow, Power)
LOCUS_DUAL_FUNCTION_OF_TWO(fmod, Fmod)
LOCUS_DUAL_FUNCTION_OF_TWO(hypot, Hypot)
LOCUS_DUAL_FUNCTION_OF_TWO(atan2, Atan2)
LOCUS_DUAL_FUNCTION_OF_TWO(xlogy, Xlogy)

#undef LOCUS_DUAL_FUNCTION
#undef LOCUS_DUAL_FUNCTION_OF_TWO

/// Of values rounded once; of tangents not.
template <class R>
LOCUS_FN Dual<R> fma(Dual<R> a, Dual<R> b, Dual<R> c) {
  return {fma(a.value, b.value, c.value), a.value * b.tangent + a.tangent * b.value + c.tangent};
}

/// trigamma with duals in its formula: the derivative of a series is the series of the derivatives.
template <class R>
LOCUS_FN Dual<R> trigamma(Dual<R> x) {
  using T = Dual<R>;
  if (!(x < T(0))) return detail::trigamma_of_positive(x);
  const T ratio = T(3.141592653589793) / sin(T(3.141592653589793) * (x - round(x)));
  return ratio * ratio - detail::trigamma_of_positive(T(1) - x);
}

}}}  // namespace locus::LOCUS_ABI::math
