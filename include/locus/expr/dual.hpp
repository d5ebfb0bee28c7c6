#pragma once
// Tensors of duals from two tensors, and back.

#include <locus/expr/dual_math.hpp>
#include <locus/expr/operators.hpp>

namespace locus { inline namespace LOCUS_ABI { namespace functor {

/// A dual of a value and a tangent.
template <class R>
struct MakeDual {
  using gives = Dual<R>;
  static constexpr bool selects = true;
  static constexpr unsigned reads(int) { return 0; }
  LOCUS_FN Dual<R> operator()(R value, R tangent) const { return {value, tangent}; }
  LOCUS_FN Pack<R, R> pullback(Dual<R> g, Dual<R>, R, R) const { return {g.tangent, g.value}; }
};
template <class R>
struct Primal {
  using gives = R;
  static constexpr bool selects = true;
  static constexpr unsigned reads(int) { return 0; }
  LOCUS_FN R operator()(Dual<R> x) const { return x.value; }
  LOCUS_FN Pack<Dual<R>> pullback(R g, R, Dual<R>) const { return {Dual<R>(R(0), g)}; }
};
template <class R>
struct Tangent {
  using gives = R;
  static constexpr bool selects = true;
  static constexpr unsigned reads(int) { return 0; }
  LOCUS_FN R operator()(Dual<R> x) const { return x.tangent; }
  LOCUS_FN Pack<Dual<R>> pullback(R g, R, Dual<R>) const { return {Dual<R>(g, R(0))}; }
};

}}}  // namespace locus::LOCUS_ABI::functor

namespace locus { inline namespace LOCUS_ABI {

namespace detail {
template <class X>
concept DualOperand = Operand<X> && is_dual<value_of<X>>;
/// Operands of make_dual: two tensors that a formula may have together, of one element type that a Dual holds.
template <class X, class V>
concept MakesDual = TensorLike<X> && TensorLike<V> && Combinable<X, V> && std::is_same_v<value_of<X>, value_of<V>> &&
                    is_part_of_dual<value_of<X>>;
}  // namespace detail

/// The duals of values x and tangents v, which broadcast. gradient: of the parts of the result, see tangent
template <class X, class V>
  requires detail::MakesDual<X, V>
[[nodiscard]] auto make_dual(X&& x, V&& v) {
  return detail::pending(functor::MakeDual<value_of<X>>{}, std::forward<X>(x), std::forward<V>(v)).eval();
}

/// The values of duals, pending.
template <detail::DualOperand X>
[[nodiscard]] auto primal(X&& x) {
  return detail::pending(functor::Primal<decltype(value_of<X>::value)>{}, std::forward<X>(x));
}

/// The tangents of duals, pending. A loss that is made of tangents trains parameters: they are converted to duals
/// where they meet duals, and backward() leads from tangents back to the parameters.
template <detail::DualOperand X>
[[nodiscard]] auto tangent(X&& x) {
  return detail::pending(functor::Tangent<decltype(value_of<X>::value)>{}, std::forward<X>(x));
}

}}  // namespace locus::LOCUS_ABI
