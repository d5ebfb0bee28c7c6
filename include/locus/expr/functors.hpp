#pragma once
// Scalar functions, each with its derivative beside it. They run in registers on every device. Here are arithmetic,
// selection, and conversion between element types, which expressions themselves use; functions/ has the families of
// functions with their names.
//
// A scalar function is a class with operator()(x...) and one of
//
//   by_output(y)          dy/dx from the result (unary), which the backward pass recomputes
//   by_input(x)           dy/dx from the argument (unary)
//   by_inputs(x...)       Pack of dy/dx_i; `reads(i)`: bit mask of the arguments that the i-th reads
//   pullback(g, y, x...)  Pack of g * dy/dx_i, for derivatives that select rather than multiply
//
// Where g is exactly 0, the gradient is 0, even if the slope is infinite or NaN. `selects = true`: the derivative
// itself gives exactly 0 for arguments that the function does not select, so no such check is made.
//
// For a derivative of zero everywhere, by_input returns 0; `differentiable = false` ends the backward pass
// (comparisons). To add a function, write such a class and call `elementwise(YourFunction{}, x)`.

#include <locus/core/chain_rule.hpp>
#include <locus/core/dtype.hpp>
#include <locus/core/math.hpp>
#include <locus/core/std/pack.hpp>

namespace locus { inline namespace LOCUS_ABI { namespace functor {

struct Identity {
  static constexpr bool is_identity = true;
  static constexpr unsigned reads(int) { return 0; }
  template <class T> LOCUS_FN T operator()(T x) const { return x; }
  template <class T> LOCUS_FN T by_output(T) const { return T(1); }
};
struct Add {
  static constexpr unsigned reads(int) { return 0; }
  template <class T>
  LOCUS_FN T operator()(T x, T y) const {
    using W = math::wrapping_t<T>;
    return static_cast<T>(static_cast<W>(x) + static_cast<W>(y));
  }
  template <class T> LOCUS_FN Pack<T, T> by_inputs(T, T) const { return {T(1), T(1)}; }
};
struct Subtract {
  static constexpr unsigned reads(int) { return 0; }
  template <class T>
  LOCUS_FN T operator()(T x, T y) const {
    using W = math::wrapping_t<T>;
    return static_cast<T>(static_cast<W>(x) - static_cast<W>(y));
  }
  template <class T> LOCUS_FN Pack<T, T> by_inputs(T, T) const { return {T(1), T(-1)}; }
};
struct Multiply {
  static constexpr unsigned reads(int input) { return input == 0 ? 2u : 1u; }
  template <class T>
  LOCUS_FN T operator()(T x, T y) const {
    using W = math::wrapping_t<T>;
    return static_cast<T>(static_cast<W>(x) * static_cast<W>(y));
  }
  template <class T> LOCUS_FN Pack<T, T> by_inputs(T x, T y) const { return {y, x}; }
};
/// Integer quotients round towards minus infinity, as Python's //, so that (x / y) * y + x % y is x; x / 0 is 0.
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
  template <class T> LOCUS_FN Pack<T, T> by_inputs(T x, T y) const { return {T(1) / y, -(x / y) / y}; }
};
/// Remainder with the sign of the divisor, as in Python and torch.remainder; 0 for integers by zero. A zero has the
/// sign of the dividend, as libtorch's: Python's has the divisor's.
struct Remainder {
  static constexpr unsigned reads(int input) { return input == 0 ? 0u : 3u; }
  template <class T>
  LOCUS_FN T operator()(T x, T y) const {
    if constexpr (std::is_same_v<T, bool>) return false;  // 0 by true as well as by false
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
  template <class T> LOCUS_FN Pack<T, T> by_inputs(T x, T y) const { return {T(1), -math::floor(x / y)}; }
};
struct Negate {
  static constexpr unsigned reads(int) { return 0; }
  template <class T>
  LOCUS_FN T operator()(T x) const {
    if constexpr (std::is_floating_point_v<T> || is_complex<T>) return -x;
    else return static_cast<T>(math::wrapping_t<T>(0) - static_cast<math::wrapping_t<T>>(x));
  }
  template <class T> LOCUS_FN T by_output(T) const { return T(-1); }
};
struct Conjugate {
  static constexpr unsigned reads(int) { return 0; }
  template <class T> LOCUS_FN T operator()(const T& z) const { return detail::conjugate(z); }
  template <class T> LOCUS_FN Pack<T> pullback(const T& g, const T&, const T&) const { return {detail::conjugate(g)}; }
};
struct Power {
  template <class T> LOCUS_FN T operator()(T x, T y) const { return math::pow(x, y); }
  template <class T>
  LOCUS_FN Pack<T, T> by_inputs(T x, T y) const {
    const T base = detail::is_zero(y) ? T(0) : y * math::pow(x, y - T(1));
    const T exponent = x == T(0) && is_not_negative(y) ? T(0) : math::pow(x, y) * math::log(x);
    return {base, exponent};
  }

 private:
  template <class T>
  LOCUS_FN static bool is_not_negative(T x) {
    if constexpr (is_complex<T>) return x.real >= 0;
    else return x >= T(0);
  }
};

// Selection. NaN wins, as in NumPy; where two arguments tie, each takes half of the gradient.

struct Minimum {
  static constexpr bool selects = true;
  template <class T>
  LOCUS_FN T operator()(T x, T y) const {
    const T smaller = x < y ? x : y;  // one instruction, also in scalar code
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
    return {detail::kept_if((x >= low) & (x <= high), g), detail::kept_if(below & (low <= high), g),
            detail::kept_if(above | (below & (low > high)), g)};
  }
};
struct Where {
  static constexpr bool selects = true;
  static constexpr unsigned reads(int) { return 1u; }
  template <class T> LOCUS_FN T operator()(bool condition, T x, T y) const { return condition ? x : y; }
  template <class T>
  LOCUS_FN Pack<bool, T, T> pullback(T g, T, bool condition, T, T) const {
    return {false, detail::kept_if(condition, g), detail::kept_if(!condition, g)};
  }
};

/// x where the condition holds, y elsewhere.
template <class R>
struct Choose {
  using gives = R;
  static constexpr bool differentiable = false;
  R x, y;
  LOCUS_FN R operator()(bool condition) const { return condition ? x : y; }
};

}}}  // namespace locus::LOCUS_ABI::functor

namespace locus { inline namespace LOCUS_ABI { namespace detail {

/// The adjoint of a converted number as the adjoint of the number. The adjoint g of a dual y weighs its parts by the
/// tangent of g y: the tangent of g belongs to the value of y, the value of g to the tangent of y.
template <class T, class G>
[[nodiscard]] LOCUS_FN T adjoint_as(const G& g) {
  if constexpr (dual_depth<G> > dual_depth<T>) return adjoint_as<T>(g.tangent);
  else if constexpr (dual_depth<T> > dual_depth<G>) return T(0, adjoint_as<decltype(T::value)>(g));
  else return static_cast<T>(g);
}

}}}  // namespace locus::LOCUS_ABI::detail

namespace locus { inline namespace LOCUS_ABI { namespace functor {

/// Conversion to another element type; the gradient is converted back. Integers pass no gradient.
template <class To>
struct Convert {
  using gives = To;
  static constexpr bool selects = true;
  static constexpr bool differentiable = DifferentiableDType<To>;
  static constexpr unsigned reads(int) { return 0; }
  template <class T> LOCUS_FN compute_t<To> operator()(T x) const { return load_as_register(convert<To>(x)); }
  template <class G, class T>
  LOCUS_FN Pack<T> pullback(G g, compute_t<To>, T) const {
    if constexpr (is_complex<G> && !is_complex<T>) return {detail::adjoint_as<T>(g.real)};
    else return {detail::adjoint_as<T>(g)};
  }
};

}}}  // namespace locus::LOCUS_ABI::functor
