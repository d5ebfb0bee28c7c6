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

namespace locus { inline namespace LOCUS_ABI {

#define LOCUS_BINARY(name, Functor)                                                   \
  template <class L, class R>                                                         \
    requires Combinable<L, R>                                                         \
  [[nodiscard]] auto name(L&& left, R&& right) {                                      \
    return detail::pending(Functor{}, std::forward<L>(left), std::forward<R>(right)); \
  }

LOCUS_BINARY(operator+, functor::Add)
LOCUS_BINARY(operator-, functor::Subtract)
LOCUS_BINARY(operator*, functor::Multiply)
LOCUS_BINARY(operator/, functor::Divide)
LOCUS_BINARY(operator%, functor::Remainder)
LOCUS_BINARY(operator==, functor::Equal)
LOCUS_BINARY(operator!=, functor::NotEqual)
LOCUS_BINARY(operator<, functor::Less)
LOCUS_BINARY(operator<=, functor::LessEqual)
LOCUS_BINARY(operator>, functor::Greater)
LOCUS_BINARY(operator>=, functor::GreaterEqual)
LOCUS_BINARY(operator&&, functor::LogicalAnd)
LOCUS_BINARY(operator||, functor::LogicalOr)
LOCUS_BINARY(minimum, functor::Minimum)
LOCUS_BINARY(maximum, functor::Maximum)

#undef LOCUS_BINARY

namespace detail {
template <class X>
concept FloatingOrNumber = !TensorLike<X> || FloatingDType<value_of<X>>;
}  // namespace detail

/// Elementwise minimum and maximum of two operands. With an integer second argument, min and max reduce over that axis
/// instead, as in PyTorch; see ops/reduce.hpp.
template <class L, class R>
  requires(Combinable<L, R> && !std::is_integral_v<detail::bare_t<R>>)
[[nodiscard]] auto min(L&& left, R&& right) {
  return detail::pending(functor::Minimum{}, std::forward<L>(left), std::forward<R>(right));
}
template <class L, class R>
  requires(Combinable<L, R> && !std::is_integral_v<detail::bare_t<R>>)
[[nodiscard]] auto max(L&& left, R&& right) {
  return detail::pending(functor::Maximum{}, std::forward<L>(left), std::forward<R>(right));
}

/// x^y for floating element types: an exponential and a logarithm of every element, whatever the exponent. For x^2,
/// x^-1 and x^(1/2), write square(x), 1 / x and sqrt(x), at a tenth of the cost.
template <class L, class R>
  requires(Combinable<L, R> && detail::FloatingOrNumber<L> && detail::FloatingOrNumber<R>)
[[nodiscard]] auto pow(L&& base, R&& exponent) {
  return detail::pending(functor::Power{}, std::forward<L>(base), std::forward<R>(exponent));
}

#define LOCUS_UNARY(name, Functor, kind)                   \
  template <class X>                                       \
    requires detail::kind<X>                               \
  [[nodiscard]] auto name(X&& x) {                         \
    return detail::pending(Functor{}, std::forward<X>(x)); \
  }

LOCUS_UNARY(operator-, functor::Negate, Operand)
LOCUS_UNARY(operator!, functor::LogicalNot, Operand)
LOCUS_UNARY(abs, functor::Abs, Operand)
LOCUS_UNARY(sign, functor::Sign, Operand)
LOCUS_UNARY(square, functor::Square, Operand)
LOCUS_UNARY(relu, functor::Relu, Operand)
LOCUS_UNARY(exp, functor::Exp, FloatingOperand)
LOCUS_UNARY(expm1, functor::Expm1, FloatingOperand)
LOCUS_UNARY(log, functor::Log, FloatingOperand)
LOCUS_UNARY(log1p, functor::Log1p, FloatingOperand)
LOCUS_UNARY(sqrt, functor::Sqrt, FloatingOperand)
LOCUS_UNARY(rsqrt, functor::Rsqrt, FloatingOperand)
LOCUS_UNARY(reciprocal, functor::Reciprocal, FloatingOperand)
LOCUS_UNARY(sin, functor::Sin, FloatingOperand)
LOCUS_UNARY(cos, functor::Cos, FloatingOperand)
LOCUS_UNARY(tanh, functor::Tanh, FloatingOperand)
LOCUS_UNARY(erf, functor::Erf, FloatingOperand)
LOCUS_UNARY(floor, functor::Floor, FloatingOperand)
LOCUS_UNARY(ceil, functor::Ceil, FloatingOperand)
LOCUS_UNARY(round, functor::Round, FloatingOperand)
LOCUS_UNARY(sigmoid, functor::Sigmoid, FloatingOperand)
LOCUS_UNARY(silu, functor::Silu, FloatingOperand)
LOCUS_UNARY(softplus, functor::Softplus, FloatingOperand)
LOCUS_UNARY(hardswish, functor::Hardswish, FloatingOperand)
LOCUS_UNARY(mish, functor::Mish, FloatingOperand)
LOCUS_UNARY(isfinite, functor::IsFinite, FloatingOperand)

#undef LOCUS_UNARY

/// x where x > 0, slope * x elsewhere. throws ArgumentError unless the slope is finite in the type in which x is
/// computed
template <detail::FloatingOperand X>
[[nodiscard]] auto leaky_relu(X&& x, double slope = 0.01) {
  using R = compute_t<value_of<X>>;
  return detail::pending(functor::LeakyRelu<R>{detail::finite_as<R>("leaky_relu", "slope", slope)}, std::forward<X>(x));
}

/// x where x > 0, alpha (e^x - 1) elsewhere. throws ArgumentError unless alpha is finite in the type in which x is
/// computed
template <detail::FloatingOperand X>
[[nodiscard]] auto elu(X&& x, double alpha = 1) {
  using R = compute_t<value_of<X>>;
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

/// x limited to [low, high]; each bound a number or a tensor. Where low > high the result is high, as in PyTorch.
template <TensorLike X, class Low, class High>
  requires(detail::CombinablePair<X, Low> && detail::CombinablePair<X, High> &&
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
/// The element type of numbers without tensors, as PyTorch's: float if one is a fraction, int64 for integers, bool for
/// bools.
template <Scalar... N>
using type_of_numbers_t =
    std::conditional_t<!(std::is_integral_v<bare_t<N>> && ...), float,
                       std::conditional_t<(std::is_same_v<bare_t<N>, bool> && ...), bool, std::int64_t>>;
}  // namespace detail

/// x where the condition holds, y elsewhere, both numbers: where(x > 0, 1, 0). The result is float if x or y is
/// floating-point, bool if both are bool, otherwise int64. throws ArgumentError for an integer that int64 cannot hold
template <class C, Scalar X, Scalar Y>
  requires(detail::Operand<C> && std::is_same_v<value_of<C>, bool>)
[[nodiscard]] auto where(C&& condition, X x, Y y) {
  using T = detail::type_of_numbers_t<X, Y>;
  detail::require_fits<T>("where", x, "");
  detail::require_fits<T>("where", y, "");
  return detail::pending(functor::Choose<T>{convert<T>(x), convert<T>(y)}, std::forward<C>(condition));
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
concept UpdateOperand = Combinable<Tensor<T, D>, Y> && (Scalar<Y> || bare_t<Y>::role != Role::traced);

}  // namespace detail

// In place: the target's elements change for all tensors that share them. Only plain operands: a traced operand would
// lose its gradient. throws ShapeError unless the operand broadcasts to the target; ArgumentError for an expanded
// target

#define LOCUS_UPDATE(name, Functor)                                                                         \
  template <class T, class D, class Y>                                                                      \
    requires detail::UpdateOperand<Y, T, D>                                                                 \
  const Tensor<T, D>& name(const Tensor<T, D>& target, Y&& operand) {                                       \
    using namespace detail;                                                                                 \
    if constexpr (std::is_integral_v<T>) require_operand_fits<Functor, T>(operand);                         \
    update(#name, target, join_parts(Functor{}, as_part<T>(target), as_part<T>(std::forward<Y>(operand)))); \
    return target;                                                                                          \
  }

LOCUS_UPDATE(operator+=, functor::Add)
LOCUS_UPDATE(operator-=, functor::Subtract)
LOCUS_UPDATE(operator*=, functor::Multiply)
LOCUS_UPDATE(operator/=, functor::Divide)
LOCUS_UPDATE(operator%=, functor::Remainder)

#undef LOCUS_UPDATE

#include <locus/refuse/expr/operators.inc>

}}  // namespace locus::LOCUS_ABI
