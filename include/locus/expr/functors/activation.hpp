#pragma once
// Activations after a layer. functors.hpp lists the members of a function.

#include <locus/core/chain_rule.hpp>
#include <locus/core/math.hpp>
#include <locus/core/std/pack.hpp>

namespace locus { inline namespace LOCUS_ABI { namespace functor {

struct Tanh {
  template <class T>
  LOCUS_FN T operator()(T x) const {
    return math::tanh(x);
  }
  template <class T>
  LOCUS_FN T by_output(T y) const {
    return T(1) - y * y;
  }
};
struct Sigmoid {
  template <class T>
  LOCUS_FN T operator()(T x) const {
    return math::sigmoid(x);
  }
  template <class T>
  LOCUS_FN T by_output(T y) const {
    return y * (T(1) - y);
  }
};
struct Relu {
  static constexpr bool is_relu = true;
  static constexpr bool selects = true;
  template <class T>
  LOCUS_FN T operator()(T x) const {
    return x < T(0) ? T(0) : x;
  }
  template <class T>
  LOCUS_FN T by_output(T y) const {
    return y <= T(0) ? T(0) : T(1);
  }
};
template <class R>
struct LeakyRelu {
  R slope;
  template <class T>
  LOCUS_FN T operator()(T x) const {
    return x < T(0) ? x * T(slope) : x;
  }
  template <class T>
  LOCUS_FN T by_input(T x) const {
    return x > T(0) ? T(1) : T(slope);
  }
};
/// x where x > 0, x times a slope that may be trained elsewhere (He, Zhang, Ren and Sun, 2015). The derivative at 0 is
/// the slope.
struct Prelu {
  static constexpr unsigned reads(int input) { return input == 0 ? 3u : 1u; }
  template <class T>
  LOCUS_FN T operator()(T x, T slope) const {
    return x > T(0) ? x : x * slope;
  }
  template <class T>
  LOCUS_FN Pack<T, T> pullback(T g, T, T x, T slope) const {
    const bool reached = g != T(0);
    return {detail::kept_if(reached, g * (x > T(0) ? T(1) : slope)), detail::kept_if(reached & !(x > T(0)), g * x)};
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
  template <class T>
  LOCUS_FN T operator()(T x) const {
    return math::mish(x);
  }
  template <class T>
  LOCUS_FN T by_input(T x) const {
    return math::mish_slope(x);
  }
};
/// x Phi(x), with Phi the normal distribution function (Hendrycks and Gimpel, 2016), to an error of 1.9e-7 max(1, |x|).
struct Gelu {
  template <class T>
  LOCUS_FN T operator()(T x) const {
    return math::gelu(x);
  }
  template <class T>
  LOCUS_FN T by_input(T x) const {
    return math::gelu_slope(x);
  }
};
/// Gelu within 2 ulp.
struct GeluExact : Gelu {
  template <class T>
  LOCUS_FN T operator()(T x) const {
    return math::gelu_exact(x);
  }
};
/// Gelu with Phi(x) approximated by (1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3))) / 2.
struct GeluTanh {
  static constexpr bool is_gelu_tanh = true;
  template <class T>
  LOCUS_FN T operator()(T x) const {
    return math::gelu_tanh(x);
  }
  template <class T>
  LOCUS_FN T by_input(T x) const {
    return math::gelu_tanh_slope(x);
  }
};
struct Silu {
  template <class T>
  LOCUS_FN T operator()(T x) const {
    return math::silu(x);
  }
  template <class T>
  LOCUS_FN T by_input(T x) const {
    const T s = math::sigmoid(x);
    return s * (T(1) + x * (T(1) - s));
  }
};
struct Softplus {
  template <class T>
  LOCUS_FN T operator()(T x) const {
    return math::softplus(x);
  }
  template <class T>
  LOCUS_FN T by_input(T x) const {
    return math::sigmoid(x);
  }
};

}}}  // namespace locus::LOCUS_ABI::functor
