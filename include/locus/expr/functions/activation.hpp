#pragma once
// Activations after a layer. functors.hpp lists the members of a class.

#include <locus/core/math.hpp>
#include <locus/expr/functions/declare.hpp>

namespace locus { inline namespace LOCUS_ABI { namespace functor {

struct Tanh {
  template <class T> LOCUS_FN T operator()(T x) const { return math::tanh(x); }
  template <class T> LOCUS_FN T by_output(T y) const { return T(1) - y * y; }
};
struct Sigmoid {
  template <class T> LOCUS_FN T operator()(T x) const { return math::sigmoid(x); }
  template <class T> LOCUS_FN T by_output(T y) const { return y * (T(1) - y); }
};
struct Relu {
  static constexpr bool is_relu = true;
  static constexpr bool selects = true;
  template <class T>
  LOCUS_FN T operator()(T x) const {
    if constexpr (std::is_unsigned_v<T>) return x;  // nvcc warns of comparisons with 0
    else return x < T(0) ? T(0) : x;
  }
  template <class T> LOCUS_FN T by_output(T y) const { return y <= T(0) ? T(0) : T(1); }
};
template <class R>
struct LeakyRelu {
  R slope;
  template <class T> LOCUS_FN T operator()(T x) const { return x < T(0) ? x * T(slope) : x; }
  template <class T> LOCUS_FN T by_input(T x) const { return x > T(0) ? T(1) : T(slope); }
};
/// x where x > 0, x times a slope that may be trained elsewhere (He, Zhang, Ren and Sun, 2015). The derivative at 0 is
/// the slope.
struct Prelu {
  static constexpr unsigned reads(int input) { return input == 0 ? 3u : 1u; }
  template <class T> LOCUS_FN T operator()(T x, T slope) const { return x > T(0) ? x : x * slope; }
  template <class T>
  LOCUS_FN Pack<T, T> pullback(T g, T, T x, T slope) const {
    const bool reached = !detail::is_zero(g), below = !(x > T(0));
    return {detail::kept_if(reached, g * (below ? slope : T(1))), detail::kept_if(reached & below, g * x)};
  }
};
/// x where x > 0, alpha (e^x - 1) elsewhere (Clevert, Unterthiner and Hochreiter, 2015). The slope at 0 is alpha.
template <class R>
struct Elu {
  R alpha;
  template <class T>
  LOCUS_FN T operator()(T x) const {
    const T decayed = T(alpha) * math::expm1(x);
    return x > T(0) ? x : decayed;
  }
  template <class T>
  LOCUS_FN T by_input(T x) const {
    const T slope = T(alpha) * math::exp(x);
    return x > T(0) ? T(1) : slope;
  }
};
/// x min(max(x + 3, 0), 6) / 6 (Howard et al., 2019); 0 at -infinity. The slope is 0 at -3 and 1 at 3.
struct Hardswish {
  static constexpr bool selects = true;
  template <class T>
  LOCUS_FN T operator()(T x) const {
    const T between = x * (x + T(3)) / T(6), above = x < T(3) ? between : x;
    return x <= T(-3) ? T(0) : above;
  }
  template <class T>
  LOCUS_FN T by_input(T x) const {
    const T above = x < T(3) ? x / T(3) + T(0.5) : T(1);
    return x <= T(-3) ? T(0) : above;
  }
};
/// x tanh(log(1 + e^x)) (Misra, 2019)
struct Mish {
  template <class T> LOCUS_FN T operator()(T x) const { return math::mish(x); }
  template <class T> LOCUS_FN T by_input(T x) const { return math::mish_slope(x); }
};
/// x Phi(x), with Phi the normal distribution function (Hendrycks and Gimpel, 2016), to an error of 1.9e-7 max(1, |x|).
struct Gelu {
  template <class T> LOCUS_FN T operator()(T x) const { return math::gelu(x); }
  template <class T> LOCUS_FN T by_input(T x) const { return math::gelu_slope(x); }
};
/// Gelu within 2 ulp.
struct GeluExact : Gelu {
  template <class T> LOCUS_FN T operator()(T x) const { return math::gelu_exact(x); }
};
/// Gelu with Phi(x) approximated by (1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3))) / 2.
struct GeluTanh {
  static constexpr bool is_gelu_tanh = true;
  template <class T> LOCUS_FN T operator()(T x) const { return math::gelu_tanh(x); }
  template <class T> LOCUS_FN T by_input(T x) const { return math::gelu_tanh_slope(x); }
};
struct Silu {
  template <class T> LOCUS_FN T operator()(T x) const { return math::silu(x); }
  template <class T>
  LOCUS_FN T by_input(T x) const {
    const T s = math::sigmoid(x);
    return s * (T(1) + x * (T(1) - s));
  }
};
struct Softplus {
  template <class T> LOCUS_FN T operator()(T x) const { return math::softplus(x); }
  template <class T> LOCUS_FN T by_input(T x) const { return math::sigmoid(x); }
};

}}}  // namespace locus::LOCUS_ABI::functor

namespace locus { inline namespace LOCUS_ABI {

LOCUS_UNARY_FUNCTION(tanh, functor::Tanh, detail::DifferentiableOperand)
LOCUS_UNARY_FUNCTION(sigmoid, functor::Sigmoid, detail::FloatingOperand)
LOCUS_UNARY_FUNCTION(relu, functor::Relu, detail::RealOperand)
LOCUS_UNARY_FUNCTION(hardswish, functor::Hardswish, detail::FloatingOperand)
LOCUS_UNARY_FUNCTION(mish, functor::Mish, detail::FloatingOperand)
LOCUS_UNARY_FUNCTION(silu, functor::Silu, detail::FloatingOperand)
LOCUS_UNARY_FUNCTION(softplus, functor::Softplus, detail::FloatingOperand)

/// x where x > 0, slope * x elsewhere. throws ArgumentError unless the slope is finite in the type in which x is
/// computed
template <detail::FloatingOperand X>
[[nodiscard]] auto leaky_relu(X&& x, double slope = 0.01) {
  using R = detail::option_t<value_of<X>>;
  return detail::pending(functor::LeakyRelu<R>{detail::finite_as<R>("leaky_relu", "slope", slope)}, std::forward<X>(x));
}

/// x where x > 0, alpha (e^x - 1) elsewhere. throws ArgumentError unless alpha is finite in the type in which x is
/// computed
template <detail::FloatingOperand X>
[[nodiscard]] auto elu(X&& x, double alpha = 1) {
  using R = detail::option_t<value_of<X>>;
  return detail::pending(functor::Elu<R>{detail::finite_as<R>("elu", "alpha", alpha)}, std::forward<X>(x));
}

/// How gelu computes the normal distribution function. Errors for float on the CPU:
///   fast   at most 1.9e-7 max(1, |x|), and at most 8.8e-6 of the result: smaller than PyTorch's;
///          of the derivative at most 5e-7
///   exact  at most 2 ulp everywhere, in about 1.6 times the time
///   tanh   PyTorch's approximate="tanh", which is up to 5e-4 off
enum class GeluForm { fast, exact, tanh };

/// x times the normal distribution function at x.
template <GeluForm form = GeluForm::fast, detail::FloatingOperand X>
[[nodiscard]] auto gelu(X&& x) {
  using Precise = std::conditional_t<form == GeluForm::exact, functor::GeluExact, functor::Gelu>;
  using F = std::conditional_t<form == GeluForm::tanh, functor::GeluTanh, Precise>;
  return detail::pending(F{}, std::forward<X>(x));
}

}}  // namespace locus::LOCUS_ABI
