#pragma once
// The scalar functions of core/math for duals, declared before the functors and row functions that call them.
// expr/dual_math.hpp and expr/special.hpp define them.

#include <locus/core/config.hpp>

namespace locus { inline namespace LOCUS_ABI {
template <class R>
struct Dual;

namespace math {

#define LOCUS_DUAL_FUNCTION(name) \
  template <class R>              \
  LOCUS_FN Dual<R> name(Dual<R> x);
#define LOCUS_DUAL_FUNCTION_OF_TWO(name) \
  template <class R>                     \
  LOCUS_FN Dual<R> name(Dual<R> x, Dual<R> y);

LOCUS_DUAL_FUNCTION(exp)
LOCUS_DUAL_FUNCTION(exp2)
LOCUS_DUAL_FUNCTION(expm1)
LOCUS_DUAL_FUNCTION(exp_of_negative)
LOCUS_DUAL_FUNCTION(log)
LOCUS_DUAL_FUNCTION(log2)
LOCUS_DUAL_FUNCTION(log10)
LOCUS_DUAL_FUNCTION(log1p)
LOCUS_DUAL_FUNCTION(sqrt)
LOCUS_DUAL_FUNCTION(rsqrt)
LOCUS_DUAL_FUNCTION(cbrt)
LOCUS_DUAL_FUNCTION(sin)
LOCUS_DUAL_FUNCTION(cos)
LOCUS_DUAL_FUNCTION(tan)
LOCUS_DUAL_FUNCTION(asin)
LOCUS_DUAL_FUNCTION(acos)
LOCUS_DUAL_FUNCTION(atan)
LOCUS_DUAL_FUNCTION(sinh)
LOCUS_DUAL_FUNCTION(cosh)
LOCUS_DUAL_FUNCTION(tanh)
LOCUS_DUAL_FUNCTION(asinh)
LOCUS_DUAL_FUNCTION(acosh)
LOCUS_DUAL_FUNCTION(atanh)
LOCUS_DUAL_FUNCTION(erf)
LOCUS_DUAL_FUNCTION(erfc)
LOCUS_DUAL_FUNCTION(erfinv)
LOCUS_DUAL_FUNCTION(lgamma)
LOCUS_DUAL_FUNCTION(digamma)
LOCUS_DUAL_FUNCTION(trigamma)
LOCUS_DUAL_FUNCTION(i0)
LOCUS_DUAL_FUNCTION(i0e)
LOCUS_DUAL_FUNCTION(i1)
LOCUS_DUAL_FUNCTION(i1e)
LOCUS_DUAL_FUNCTION(erfcx)
LOCUS_DUAL_FUNCTION(sinc)
LOCUS_DUAL_FUNCTION(sinc_slope)
LOCUS_DUAL_FUNCTION(logit)
LOCUS_DUAL_FUNCTION(sigmoid)
LOCUS_DUAL_FUNCTION(silu)
LOCUS_DUAL_FUNCTION(softplus)
LOCUS_DUAL_FUNCTION(mish)
LOCUS_DUAL_FUNCTION(gelu)
LOCUS_DUAL_FUNCTION(gelu_exact)
LOCUS_DUAL_FUNCTION(gelu_slope)
LOCUS_DUAL_FUNCTION(gelu_tanh)
LOCUS_DUAL_FUNCTION(floor)
LOCUS_DUAL_FUNCTION(ceil)
LOCUS_DUAL_FUNCTION(trunc)
LOCUS_DUAL_FUNCTION(round)

LOCUS_DUAL_FUNCTION_OF_TWO(pow)
LOCUS_DUAL_FUNCTION_OF_TWO(fmod)
LOCUS_DUAL_FUNCTION_OF_TWO(hypot)
LOCUS_DUAL_FUNCTION_OF_TWO(atan2)
LOCUS_DUAL_FUNCTION_OF_TWO(xlogy)
LOCUS_DUAL_FUNCTION_OF_TWO(zeta)
LOCUS_DUAL_FUNCTION_OF_TWO(digamma_gain)

template <class R>
LOCUS_FN Dual<R> fma(Dual<R> a, Dual<R> b, Dual<R> c);
template <class R>
LOCUS_FN Dual<R> polygamma(int n, Dual<R> x);
template <class R>
LOCUS_FN Dual<R> mvlgamma_slope(Dual<R> x, int p);
template <class R>
LOCUS_FN Dual<R> betainc_slope(Dual<R> a, Dual<R> b, Dual<R> x);

#undef LOCUS_DUAL_FUNCTION
#undef LOCUS_DUAL_FUNCTION_OF_TWO

}  // namespace math
}}  // namespace locus::LOCUS_ABI
