#pragma once
// The table of scalar functions, each with its derivative beside it. They run in registers on every device.
//
// A scalar function is a class with operator()(x...) and one of
//
//   by_output(y)          dy/dx from the result (unary), which the backward pass computes again
//   by_input(x)           dy/dx from the argument (unary)
//   by_inputs(x...)       Pack of dy/dx_i; `reads(i)` says, as a bit mask, which arguments the i-th one looks at
//   pullback(g, y, x...)  Pack of g * dy/dx_i, for derivatives that select rather than multiply
//
// Where g is exactly 0, what it is multiplied by does not matter: the gradient is 0, also by an infinite slope or NaN.
// `selects = true` says that by itself the derivative gives exactly 0 to what the function leaves out.
//
// A derivative of zero everywhere is by_input returning 0; `differentiable = false` ends the backward pass
// (comparisons). Your own function is one such class and `elementwise(YourFunction{}, x)`.

#include <locus/core/chain_rule.hpp>
#include <locus/core/dtype.hpp>
#include <locus/core/math.hpp>
#include <locus/core/pack.hpp>

namespace locus::inline LOCUS_ABI::functor {

// Arithmetic.

struct Identity {
  static constexpr bool is_identity = true;
  static constexpr unsigned reads(int) { return 0; }
  template <class T>
  LOCUS_FN T operator()(T x) const {
    return x;
  }
  template <class T>
  LOCUS_FN T by_output(T) const {
    return T(1);
  }
};
struct Add {
  static constexpr unsigned reads(int) { return 0; }
  template <class T>
  LOCUS_FN T operator()(T x, T y) const {
    using W = math::wrapping_t<T>;
    return static_cast<T>(static_cast<W>(x) + static_cast<W>(y));
  }
  template <class T>
  LOCUS_FN Pack<T, T> by_inputs(T, T) const {
    return {T(1), T(1)};
  }
};
struct Subtract {
  static constexpr unsigned reads(int) { return 0; }
  template <class T>
  LOCUS_FN T operator()(T x, T y) const {
    using W = math::wrapping_t<T>;
    return static_cast<T>(static_cast<W>(x) - static_cast<W>(y));
  }
  template <class T>
  LOCUS_FN Pack<T, T> by_inputs(T, T) const {
    return {T(1), T(-1)};
  }
};
struct Multiply {
  static constexpr unsigned reads(int input) { return input == 0 ? 2u : 1u; }
  template <class T>
  LOCUS_FN T operator()(T x, T y) const {
    using W = math::wrapping_t<T>;
    return static_cast<T>(static_cast<W>(x) * static_cast<W>(y));
  }
  template <class T>
  LOCUS_FN Pack<T, T> by_inputs(T x, T y) const {
    return {y, x};
  }
};
/// Integers divide towards minus infinity, as Python's //, so that (x / y) * y + x % y is x; by zero they give 0.
struct Divide {
  static constexpr unsigned reads(int input) { return input == 0 ? 2u : 3u; }
  template <class T>
  LOCUS_FN T operator()(T x, T y) const {
    if constexpr (std::is_same_v<T, bool>) return x && y;
    else if constexpr (std::is_integral_v<T>) {
      if (y == 0) return 0;
      if constexpr (std::is_signed_v<T>) {
        if (y == -1) return static_cast<T>(0 - static_cast<math::wrapping_t<T>>(x));
        if (x % y != 0 && (x < 0) != (y < 0)) return static_cast<T>(x / y - 1);
      }
      return static_cast<T>(x / y);
    } else {
      return x / y;
    }
  }
  template <class T>
  LOCUS_FN Pack<T, T> by_inputs(T x, T y) const {
    return {T(1) / y, -(x / y) / y};
  }
};
/// Remainder with the sign of the divisor, as in Python and torch.remainder; of integers by zero it is 0.
struct Remainder {
  static constexpr unsigned reads(int input) { return input == 0 ? 0u : 3u; }
  template <class T>
  LOCUS_FN T operator()(T x, T y) const {
    if constexpr (std::is_same_v<T, bool>) return x && !y;
    else if constexpr (std::is_unsigned_v<T>) return y == 0 ? T(0) : static_cast<T>(x % y);
    else if constexpr (std::is_integral_v<T>) {
      if (y == 0 || y == T(-1)) return 0;
      const T rest = static_cast<T>(x % y);
      return rest != 0 && ((rest < 0) != (y < 0)) ? static_cast<T>(rest + y) : rest;
    } else {
      const T rest = math::fmod(x, y);
      return rest != T(0) && ((rest < T(0)) != (y < T(0))) ? rest + y : rest;
    }
  }
  template <class T>
  LOCUS_FN Pack<T, T> by_inputs(T x, T y) const {
    return {T(1), -math::floor(x / y)};
  }
};
struct Negate {
  static constexpr unsigned reads(int) { return 0; }
  template <class T>
  LOCUS_FN T operator()(T x) const {
    if constexpr (std::is_floating_point_v<T>) return -x;
    else return static_cast<T>(math::wrapping_t<T>(0) - static_cast<math::wrapping_t<T>>(x));
  }
  template <class T>
  LOCUS_FN T by_output(T) const {
    return T(-1);
  }
};
struct Power {
  template <class T>
  LOCUS_FN T operator()(T x, T y) const {
    return math::pow(x, y);
  }
  template <class T>
  LOCUS_FN Pack<T, T> by_inputs(T x, T y) const {
    const T base = y == T(0) ? T(0) : y * math::pow(x, y - T(1));
    const T exponent = x == T(0) && y >= T(0) ? T(0) : math::pow(x, y) * math::log(x);
    return {base, exponent};
  }
};

// Selection. NaN wins, as in NumPy; where two arguments tie, each takes half of the gradient.

struct Minimum {
  static constexpr bool selects = true;
  template <class T>
  LOCUS_FN T operator()(T x, T y) const {
    const T smaller = x < y ? x : y;  // one instruction, also where numbers are compared one by one
    return x != x ? x : smaller;
  }
  template <class T>
  LOCUS_FN Pack<T, T> pullback(T g, T, T x, T y) const {
    const T share = x == y ? g * T(0.5) : g;
    return {detail::kept_if(!(x > y), share), detail::kept_if(!(y > x), share)};
  }
};
struct Maximum {
  static constexpr bool selects = true;
  template <class T>
  LOCUS_FN T operator()(T x, T y) const {
    const T larger = x > y ? x : y;
    return x != x ? x : larger;
  }
  template <class T>
  LOCUS_FN Pack<T, T> pullback(T g, T, T x, T y) const {
    const T share = x == y ? g * T(0.5) : g;
    return {detail::kept_if(!(x < y), share), detail::kept_if(!(y < x), share)};
  }
};
struct Clamp {
  static constexpr bool selects = true;
  template <class T>
  LOCUS_FN T operator()(T x, T low, T high) const {
    const T raised = x < low || low != low ? low : x;
    return raised > high || high != high ? high : raised;
  }
  template <class T>
  LOCUS_FN Pack<T, T, T> pullback(T g, T, T x, T low, T high) const {
    const bool below = x<low, above = x> high;
    return {detail::kept_if(!(below | above), g), detail::kept_if(below & (low <= high), g),
            detail::kept_if(above | (below & (low > high)), g)};
  }
};
struct Where {
  static constexpr bool selects = true;
  static constexpr unsigned reads(int) { return 1u; }
  template <class T>
  LOCUS_FN T operator()(bool condition, T x, T y) const {
    return condition ? x : y;
  }
  template <class T>
  LOCUS_FN Pack<bool, T, T> pullback(T g, T, bool condition, T, T) const {
    return {false, detail::kept_if(condition, g), detail::kept_if(!condition, g)};
  }
};

// Powers, exponentials, logarithms.

struct Exp {
  template <class T>
  LOCUS_FN T operator()(T x) const {
    return math::exp(x);
  }
  template <class T>
  LOCUS_FN T by_output(T y) const {
    return y;
  }
};
struct Expm1 {
  template <class T>
  LOCUS_FN T operator()(T x) const {
    return math::expm1(x);
  }
  template <class T>
  LOCUS_FN T by_output(T y) const {
    return y + T(1);
  }
};
struct Log {
  template <class T>
  LOCUS_FN T operator()(T x) const {
    return math::log(x);
  }
  template <class T>
  LOCUS_FN T by_input(T x) const {
    return T(1) / x;
  }
};
struct Log1p {
  template <class T>
  LOCUS_FN T operator()(T x) const {
    return math::log1p(x);
  }
  template <class T>
  LOCUS_FN T by_input(T x) const {
    return T(1) / (T(1) + x);
  }
};
struct Sqrt {
  template <class T>
  LOCUS_FN T operator()(T x) const {
    return math::sqrt(x);
  }
  template <class T>
  LOCUS_FN T by_output(T y) const {
    return T(0.5) / y;
  }
};
struct Rsqrt {
  template <class T>
  LOCUS_FN T operator()(T x) const {
    return math::rsqrt(x);
  }
  template <class T>
  LOCUS_FN T by_output(T y) const {
    return T(-0.5) * y * y * y;
  }
};
struct Square {
  template <class T>
  LOCUS_FN T operator()(T x) const {
    return Multiply{}(x, x);
  }
  template <class T>
  LOCUS_FN T by_input(T x) const {
    return T(2) * x;
  }
};
struct Reciprocal {
  template <class T>
  LOCUS_FN T operator()(T x) const {
    return T(1) / x;
  }
  template <class T>
  LOCUS_FN T by_output(T y) const {
    return -y * y;
  }
};
struct Erf {
  template <class T>
  LOCUS_FN T operator()(T x) const {
    return math::erf(x);
  }
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
  template <class T>
  LOCUS_FN T by_input(T x) const {
    return x > T(0) ? T(1) : x < T(0) ? T(-1) : T(0);
  }
};
struct Sign {
  template <class T>
  LOCUS_FN T operator()(T x) const {
    if constexpr (std::is_unsigned_v<T>) return static_cast<T>(x > T(0));
    else return x > T(0) ? T(1) : x < T(0) ? T(-1) : x;
  }
  template <class T>
  LOCUS_FN T by_input(T) const {
    return T(0);
  }
};
struct Floor {
  template <class T>
  LOCUS_FN T operator()(T x) const {
    return math::floor(x);
  }
  template <class T>
  LOCUS_FN T by_input(T) const {
    return T(0);
  }
};
struct Ceil {
  template <class T>
  LOCUS_FN T operator()(T x) const {
    return math::ceil(x);
  }
  template <class T>
  LOCUS_FN T by_input(T) const {
    return T(0);
  }
};
/// To the nearest integer, halves to the even one.
struct Round {
  template <class T>
  LOCUS_FN T operator()(T x) const {
    return math::round(x);
  }
  template <class T>
  LOCUS_FN T by_input(T) const {
    return T(0);
  }
};

// Trigonometry.

struct Sin {
  template <class T>
  LOCUS_FN T operator()(T x) const {
    return math::sin(x);
  }
  template <class T>
  LOCUS_FN T by_input(T x) const {
    return math::cos(x);
  }
};
struct Cos {
  template <class T>
  LOCUS_FN T operator()(T x) const {
    return math::cos(x);
  }
  template <class T>
  LOCUS_FN T by_input(T x) const {
    return -math::sin(x);
  }
};

// Activations.

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
/// x where x > 0, x times a slope that may be trained elsewhere (He, Zhang, Ren and Sun, 2015). At 0 the slope counts.
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
/// The same within 2 ulp.
struct GeluExact : Gelu {
  template <class T>
  LOCUS_FN T operator()(T x) const {
    return math::gelu_exact(x);
  }
};
/// The same with Phi(x) approximated by (1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3))) / 2.
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

// Comparison and logic: bool results, no derivative.

struct Predicate {
  static constexpr bool differentiable = false;
  static constexpr bool gives_bool = true;
};
struct Equal : Predicate {
  template <class T>
  LOCUS_FN bool operator()(T x, T y) const {
    return x == y;
  }
};
struct NotEqual : Predicate {
  template <class T>
  LOCUS_FN bool operator()(T x, T y) const {
    return x != y;
  }
};
struct Less : Predicate {
  template <class T>
  LOCUS_FN bool operator()(T x, T y) const {
    return x < y;
  }
};
struct LessEqual : Predicate {
  template <class T>
  LOCUS_FN bool operator()(T x, T y) const {
    return x <= y;
  }
};
struct Greater : Predicate {
  template <class T>
  LOCUS_FN bool operator()(T x, T y) const {
    return x > y;
  }
};
struct GreaterEqual : Predicate {
  template <class T>
  LOCUS_FN bool operator()(T x, T y) const {
    return x >= y;
  }
};
struct LogicalAnd : Predicate {
  template <class T>
  LOCUS_FN bool operator()(T x, T y) const {
    return x != T(0) && y != T(0);
  }
};
struct LogicalOr : Predicate {
  template <class T>
  LOCUS_FN bool operator()(T x, T y) const {
    return x != T(0) || y != T(0);
  }
};
struct LogicalNot : Predicate {
  template <class T>
  LOCUS_FN bool operator()(T x) const {
    return x == T(0);
  }
};
struct IsFinite : Predicate {
  template <class T>
  LOCUS_FN bool operator()(T x) const {
    return x - x == T(0);
  }
};

/// Conversion to another element type; the gradient is converted back. None comes back from integers.
template <class To>
struct Convert {
  using gives = To;
  static constexpr bool selects = true;
  static constexpr bool differentiable = FloatingDType<To>;
  static constexpr unsigned reads(int) { return 0; }
  template <class T>
  LOCUS_FN compute_t<To> operator()(T x) const {
    return load_as_register(convert<To>(x));
  }
  template <class G, class T>
  LOCUS_FN Pack<T> pullback(G g, compute_t<To>, T) const {
    return {static_cast<T>(g)};
  }
};

}  // namespace locus::inline LOCUS_ABI::functor
