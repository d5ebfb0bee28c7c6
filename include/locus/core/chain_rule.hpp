#pragma once
// The chain rule in registers: an adjoint times a derivative, and scalar functions of duals by the derivative that
// stands beside them.

#include <locus/core/config.hpp>
#include <locus/core/dtype.hpp>
#include <locus/core/std/pack.hpp>

#include <cstdint>
#include <type_traits>

namespace locus { inline namespace LOCUS_ABI { namespace detail {

/// Whether the derivative of F passes the adjoint to some arguments and exactly 0 to the others.
template <class F>
inline constexpr bool selects = requires { requires F::selects; };
/// Whether F may select arguments in this way, known only at run time.
template <class F>
inline constexpr bool may_select = requires { requires F::may_select; };

/// Whether x is exactly 0: of a dual, value and tangent. (A dual compares equal to 0 if its value is 0.)
template <class R>
[[nodiscard, gnu::pure]] LOCUS_FN bool is_zero(const R& x) {
  if constexpr (is_dual<R>) return is_zero(x.value) && is_zero(x.tangent);
  else return x == R(0);
}

/// x, or exactly 0. The host uses a bit mask: g++ turns two selects in a row into branches, which keep loops from
/// vectorizing.
template <class R>
[[nodiscard]] LOCUS_FN R kept_if(bool keep, R x) {
#if !LOCUS_ON_DEVICE
  if constexpr (std::is_same_v<R, float> || std::is_same_v<R, double>) {
    using Bits = std::conditional_t<sizeof(R) == 4, std::uint32_t, std::uint64_t>;
    return __builtin_bit_cast(R, __builtin_bit_cast(Bits, x) & (Bits(0) - static_cast<Bits>(keep)));
  }
#endif
  return keep ? x : R(0);
}

/// x or y, on the host by bit masks, too.
template <class R>
[[nodiscard]] LOCUS_FN R either(bool first, R x, R y) {
#if !LOCUS_ON_DEVICE
  if constexpr (std::is_same_v<R, float> || std::is_same_v<R, double>) {
    using Bits = std::conditional_t<sizeof(R) == 4, std::uint32_t, std::uint64_t>;
    const Bits mask = Bits(0) - static_cast<Bits>(first);
    return __builtin_bit_cast(R, (__builtin_bit_cast(Bits, x) & mask) | (__builtin_bit_cast(Bits, y) & ~mask));
  }
#endif
  return first ? x : y;
}

/// adjoint * slope of F; of complex numbers, adjoint * the conjugate of the slope: PyTorch's convention, by which the
/// gradient of a real loss is the direction of steepest ascent, d/d real + i d/d imag. An adjoint of exactly 0 (a
/// branch that is not taken) contributes exactly 0, even times an infinite or NaN slope. An argument that F does not
/// select gets exactly 0 from any adjoint.
template <class F, class G, class S>
[[nodiscard]] LOCUS_FN G times_slope(G adjoint, S slope) {
  const auto product = static_cast<G>(adjoint * conjugate(slope));
  const bool has_adjoint = !is_zero(adjoint), has_slope = !is_zero(slope);
  if constexpr (selects<F>) return kept_if(has_slope, product);
  else if constexpr (may_select<F>) return kept_if(has_slope & has_adjoint, product);
  else return kept_if(has_adjoint, product);
}

/// Bit mask of the arguments that the partial derivative of F by argument `input` reads.
template <class F>
constexpr unsigned reads(int input) {
  if constexpr (requires { F::reads(0); }) return F::reads(input);
  else return ~0u;
}

/// Whether the partial derivative by argument `input` reads no argument: it is a finite constant.
template <class F, int input>
inline constexpr bool has_constant_slope = reads<F>(input) == 0;

/// The adjoint of argument `input`. A constant slope is finite and needs no check for g = 0.
template <class F, int input, class G, class S>
[[nodiscard]] LOCUS_FN G scaled(const G& g, const S& slope) {
  if constexpr (has_constant_slope<F, input>) return static_cast<G>(g * conjugate(slope));
  else return times_slope<F>(g, slope);
}

/// The value and the tangent of an argument; arguments that are no duals have none.
template <class X>
[[nodiscard]] LOCUS_FN auto value_of_dual(const X& x) {
  if constexpr (is_dual<X>) return x.value;
  else return x;
}
template <class F, int input, class X, class S>
[[nodiscard]] LOCUS_FN auto tangent_of(const X& x, const S& slope) {
  if constexpr (is_dual<X>) return scaled<F, input>(x.tangent, slope);
  else return S(0);
}

/// The sum of each argument's tangent times its slope.
template <class F, class R, class Slopes, class... X, int... i>
[[nodiscard]] LOCUS_FN R sum_of_tangents(const Slopes& slopes, std::integer_sequence<int, i...>, const X&... x) {
  return (static_cast<R>(tangent_of<F, i>(x, get<i>(slopes))) + ...);
}

/// f(x...), of duals by the derivative that is a member of F: expr/functors.hpp describes the members. The result for
/// duals therefore agrees with the backward pass of f, also where f has a kink. Without such a member, f itself
/// computes with duals.
template <class F, class... X>
[[nodiscard]] LOCUS_FN auto applied(const F& f, const X&... x) {
  if constexpr (!(is_dual<X> || ...)) return f(x...);
  else if constexpr (requires { typename F::gives; }) return f(x...);
  else if constexpr (requires { requires !F::differentiable; }) return f(value_of_dual(x)...);
  else {
    constexpr auto all = std::make_integer_sequence<int, sizeof...(X)>{};
    const auto value = applied(f, value_of_dual(x)...);
    using R = std::remove_const_t<decltype(value)>;
    if constexpr (requires { f.pullback(R(1), value, value_of_dual(x)...); })
      return Dual<R>(value, sum_of_tangents<F, R>(f.pullback(R(1), value, value_of_dual(x)...), all, x...));
    else if constexpr (requires { f.by_output(value); })
      return Dual<R>(value, sum_of_tangents<F, R>(Pack<R>(f.by_output(value)), all, x...));
    else if constexpr (requires { f.by_input(value_of_dual(x)...); })
      return Dual<R>(value, sum_of_tangents<F, R>(Pack<R>(f.by_input(value_of_dual(x)...)), all, x...));
    else if constexpr (requires { f.by_inputs(value_of_dual(x)...); })
      return Dual<R>(value, sum_of_tangents<F, R>(f.by_inputs(value_of_dual(x)...), all, x...));
    else return f(x...);
  }
}

}}}  // namespace locus::LOCUS_ABI::detail
