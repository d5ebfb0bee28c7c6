#pragma once
// The elementwise operators and functions. Operands are tensors of one place and element type, or numbers; shapes
// broadcast as in NumPy. All of them return pending expressions; expr.hpp describes when they are computed. Integers
// wrap around: the largest plus 1 is the least, whose abs and negative are itself. Integer quotients are rounded down,
// as Python's //, and the remainder has the sign of the divisor; by zero both are 0, without an error. Floating-point
// numbers divide as in IEEE 754. round takes halves to the even integer, as in NumPy and PyTorch: 0.5 to 0, 1.5 to 2.
// Undefined results, such as log of -1, are NaN; NaN stays NaN, also in minimum, maximum and clamp, and compares
// unequal to everything. Errors of shapes name the function and both shapes.

#include <locus/core/std/bounds.hpp>
#include <locus/expr/elementwise.hpp>
#include <locus/expr/functions/activation.hpp>
#include <locus/expr/functions/comparison.hpp>
#include <locus/expr/functions/elementary.hpp>

namespace locus { inline namespace LOCUS_ABI {

LOCUS_BINARY_FUNCTION(operator+, functor::Add, Combinable)
LOCUS_BINARY_FUNCTION(operator-, functor::Subtract, Combinable)
LOCUS_BINARY_FUNCTION(operator*, functor::Multiply, Combinable)
LOCUS_BINARY_FUNCTION(operator/, functor::Divide, Combinable)
LOCUS_BINARY_FUNCTION(operator%, functor::Remainder, detail::CombinableReal)
LOCUS_BINARY_FUNCTION(minimum, functor::Minimum, detail::CombinableReal)
LOCUS_BINARY_FUNCTION(maximum, functor::Maximum, detail::CombinableReal)
LOCUS_UNARY_FUNCTION(operator-, functor::Negate, detail::Operand)

/// Elementwise minimum and maximum of two operands. With an integer second argument, min and max reduce over that axis
/// instead, as in PyTorch; see ops/reduce.hpp.
template <class L, class R>
  requires(detail::CombinableReal<L, R> && !std::is_integral_v<detail::bare_t<R>>)
[[nodiscard]] auto min(L&& left, R&& right) {
  return detail::pending(functor::Minimum{}, std::forward<L>(left), std::forward<R>(right));
}
template <class L, class R>
  requires(detail::CombinableReal<L, R> && !std::is_integral_v<detail::bare_t<R>>)
[[nodiscard]] auto max(L&& left, R&& right) {
  return detail::pending(functor::Maximum{}, std::forward<L>(left), std::forward<R>(right));
}

/// x^y for floating and complex element types: an exponential and a logarithm of every element, whatever the exponent.
/// For x^2, x^-1 and x^(1/2), write square(x), 1 / x and sqrt(x), at a tenth of the cost.
template <class L, class R>
  requires detail::CombinableDifferentiable<L, R>
[[nodiscard]] auto pow(L&& base, R&& exponent) {
  return detail::pending(functor::Power{}, std::forward<L>(base), std::forward<R>(exponent));
}

/// x limited to [low, high]; each bound a number or a tensor. Where low > high the result is high, as in PyTorch.
template <TensorLike X, class Low, class High>
  requires(detail::RealOrNumber<X> && detail::CombinablePair<X, Low> && detail::CombinablePair<X, High> &&
           detail::NotParametersAlone<X, Low, High>)
[[nodiscard]] auto clamp(X&& x, Low&& low, High&& high) {
  return detail::pending(functor::Clamp{}, std::forward<X>(x), std::forward<Low>(low), std::forward<High>(high));
}

/// x where the condition holds, y elsewhere. The condition is a bool tensor; x or y may be a number.
template <class C, class X, class Y>
  requires(TensorLike<C> && std::is_same_v<value_of<C>, bool> && detail::CombinablePair<X, Y> &&
           detail::NotParametersAlone<C, X, Y> && (!TensorLike<X> || SameDevice<C, X>) &&
           (!TensorLike<Y> || SameDevice<C, Y>))
[[nodiscard]] auto where(C&& condition, X&& x, Y&& y) {
  return detail::pending(functor::Where{}, std::forward<C>(condition), std::forward<X>(x), std::forward<Y>(y));
}

namespace detail {
/// The element type of numbers without tensors, as PyTorch's: complex64 if one is complex, float if one is a fraction,
/// int64 for integers, bool for bools.
template <Scalar... N>
using type_of_numbers_t = std::conditional_t<
    (ComplexNumber<bare_t<N>> || ...), complex64,
    std::conditional_t<!(std::is_integral_v<bare_t<N>> && ...), float,
                       std::conditional_t<(std::is_same_v<bare_t<N>, bool> && ...), bool, std::int64_t>>>;
}  // namespace detail

/// x where the condition holds, y elsewhere, both numbers: where(x > 0, 1, 0). The result is complex64 if x or y is
/// complex, float if one is floating-point, bool if both are bool, otherwise int64. throws ArgumentError for an integer
/// that int64 cannot hold
template <class C, Scalar X, Scalar Y>
  requires(detail::Operand<C> && std::is_same_v<value_of<C>, bool> && !is_dual<X> && !is_dual<Y>)
[[nodiscard]] auto where(C&& condition, X x, Y y) {
  using T = detail::type_of_numbers_t<X, Y>;
  detail::require_fits<T>("where", x, "");
  detail::require_fits<T>("where", y, "");
  return detail::pending(functor::Choose<T>{convert<T>(detail::own_number(x)), convert<T>(detail::own_number(y))},
                         std::forward<C>(condition));
}

namespace detail {

/// target = part
template <class T, class D, class P>
void update(std::string_view name, const Tensor<T, D>& target, const P& part) {
  if (!(part.shape == target.shape())) {
    fail<ShapeError>({name, ": the operands have together shape ", part.shape, ", the target ", target.shape(),
                      "; expected an operand that broadcasts to the target"});
  }
  compute_in_place(name, part, target);
}

template <class Y, class T, class D>
concept UpdateOperand =
    Combinable<Tensor<T, D>, Y> && (Scalar<Y> || (bare_t<Y>::role != Role::traced && !lifts_to<T, value_of<Y>>));
template <class Y, class T, class D>
concept RealUpdateOperand = UpdateOperand<Y, T, D> && !ComplexDType<T>;

}  // namespace detail

// In place: the target's elements change for all tensors that share them. Only plain operands: a traced operand would
// lose its gradient. throws ShapeError unless the operand broadcasts to the target; ArgumentError for an expanded
// target

#define LOCUS_UPDATE(name, Functor, kind)                                                                   \
  template <class T, class D, class Y>                                                                      \
    requires kind<Y, T, D>                                                                                  \
  const Tensor<T, D>& name(const Tensor<T, D>& target, Y&& operand) {                                       \
    using namespace detail;                                                                                 \
    if constexpr (std::is_integral_v<T>) require_operand_fits<Functor, T>(operand);                         \
    update(#name, target, join_parts(Functor{}, as_part<T>(target), as_part<T>(std::forward<Y>(operand)))); \
    return target;                                                                                          \
  }

LOCUS_UPDATE(operator+=, functor::Add, detail::UpdateOperand)
LOCUS_UPDATE(operator-=, functor::Subtract, detail::UpdateOperand)
LOCUS_UPDATE(operator*=, functor::Multiply, detail::UpdateOperand)
LOCUS_UPDATE(operator/=, functor::Divide, detail::UpdateOperand)
LOCUS_UPDATE(operator%=, functor::Remainder, detail::RealUpdateOperand)

#undef LOCUS_UPDATE

#include <locus/refuse/expr/operators.inc>

}}  // namespace locus::LOCUS_ABI
