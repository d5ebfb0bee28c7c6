#pragma once
// The elementwise operators and functions. Operands are tensors of one place and element type, or numbers; shapes
// broadcast as in NumPy. All of them are pending: see expr.hpp for when they are computed.

#include <locus/expr/refuse.hpp>

namespace locus::inline LOCUS_ABI {

#define LOCUS_BINARY(name, Functor)                                               \
  template <class L, class R>                                                     \
    requires Combinable<L, R>                                                     \
  [[nodiscard]] auto name(L&& left, R&& right) {                                  \
    return elementwise(Functor{}, std::forward<L>(left), std::forward<R>(right)); \
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

LOCUS_REFUSE_MIXED(operator+, "a + b")
LOCUS_REFUSE_MIXED(operator-, "a - b")
LOCUS_REFUSE_MIXED(operator*, "a * b")
LOCUS_REFUSE_MIXED(operator/, "a / b")
LOCUS_REFUSE_MIXED(operator%, "a % b")
LOCUS_REFUSE_MIXED(operator==, "a == b")
LOCUS_REFUSE_MIXED(operator!=, "a != b")
LOCUS_REFUSE_MIXED(operator<, "a < b")
LOCUS_REFUSE_MIXED(operator<=, "a <= b")
LOCUS_REFUSE_MIXED(operator>, "a > b")
LOCUS_REFUSE_MIXED(operator>=, "a >= b")
LOCUS_REFUSE_MIXED(operator&&, "a && b")
LOCUS_REFUSE_MIXED(operator||, "a || b")
LOCUS_REFUSE_MIXED(minimum, "minimum(a, b)")
LOCUS_REFUSE_MIXED(maximum, "maximum(a, b)")

namespace detail {
template <class X>
concept FloatingOperand = Operand<X> && FloatingDType<value_of<X>>;
template <class X>
concept FloatingOrNumber = !TensorLike<X> || FloatingDType<value_of<X>>;
}  // namespace detail

/// Elementwise smaller and larger one, as minimum and maximum. With an integer second argument, min and max reduce over
/// that axis instead, as in PyTorch; see ops/reduce.hpp.
template <class L, class R>
  requires(Combinable<L, R> && TensorLike<L> && !std::is_integral_v<detail::bare_t<R>>)
[[nodiscard]] auto min(L&& left, R&& right) {
  return elementwise(functor::Minimum{}, std::forward<L>(left), std::forward<R>(right));
}
template <class L, class R>
  requires(Combinable<L, R> && TensorLike<L> && !std::is_integral_v<detail::bare_t<R>>)
[[nodiscard]] auto max(L&& left, R&& right) {
  return elementwise(functor::Maximum{}, std::forward<L>(left), std::forward<R>(right));
}
template <TensorLike L, TensorLike R>
  requires detail::Refused<L, R>
void min(const L&, const R&) = delete;
template <TensorLike L, TensorLike R>
  requires detail::Refused<L, R>
void max(const L&, const R&) = delete;

/// x^y for floating element types.
template <class L, class R>
  requires(Combinable<L, R> && detail::FloatingOrNumber<L> && detail::FloatingOrNumber<R>)
[[nodiscard]] auto pow(L&& base, R&& exponent) {
  return elementwise(functor::Power{}, std::forward<L>(base), std::forward<R>(exponent));
}
LOCUS_REFUSE_MIXED(pow, "pow(a, b)")

#define LOCUS_UNARY(name, Functor, kind)               \
  template <class X>                                   \
    requires detail::kind<X>                           \
  [[nodiscard]] auto name(X&& x) {                     \
    return elementwise(Functor{}, std::forward<X>(x)); \
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
LOCUS_UNARY(isfinite, functor::IsFinite, FloatingOperand)

#undef LOCUS_UNARY

LOCUS_REFUSE_UNARY(operator-, Operand)
LOCUS_REFUSE_UNARY(operator!, Operand)
LOCUS_REFUSE_UNARY(abs, Operand)
LOCUS_REFUSE_UNARY(sign, Operand)
LOCUS_REFUSE_UNARY(square, Operand)
LOCUS_REFUSE_UNARY(relu, Operand)
LOCUS_REFUSE_UNARY(exp, FloatingOperand)
LOCUS_REFUSE_UNARY(expm1, FloatingOperand)
LOCUS_REFUSE_UNARY(log, FloatingOperand)
LOCUS_REFUSE_UNARY(log1p, FloatingOperand)
LOCUS_REFUSE_UNARY(sqrt, FloatingOperand)
LOCUS_REFUSE_UNARY(rsqrt, FloatingOperand)
LOCUS_REFUSE_UNARY(reciprocal, FloatingOperand)
LOCUS_REFUSE_UNARY(sin, FloatingOperand)
LOCUS_REFUSE_UNARY(cos, FloatingOperand)
LOCUS_REFUSE_UNARY(tanh, FloatingOperand)
LOCUS_REFUSE_UNARY(erf, FloatingOperand)
LOCUS_REFUSE_UNARY(floor, FloatingOperand)
LOCUS_REFUSE_UNARY(ceil, FloatingOperand)
LOCUS_REFUSE_UNARY(round, FloatingOperand)
LOCUS_REFUSE_UNARY(sigmoid, FloatingOperand)
LOCUS_REFUSE_UNARY(silu, FloatingOperand)
LOCUS_REFUSE_UNARY(softplus, FloatingOperand)
LOCUS_REFUSE_UNARY(isfinite, FloatingOperand)

/// x where x > 0, slope * x elsewhere.
template <detail::FloatingOperand X>
[[nodiscard]] auto leaky_relu(X&& x, double slope = 0.01) {
  using R = compute_t<value_of<X>>;
  return elementwise(functor::LeakyRelu<R>{static_cast<R>(slope)}, std::forward<X>(x));
}

/// How gelu computes the normal distribution function: by erf, or by PyTorch's approximate="tanh".
enum class GeluForm { exact, tanh };

/// x times the normal distribution function at x.
template <GeluForm form = GeluForm::exact, detail::FloatingOperand X>
[[nodiscard]] auto gelu(X&& x) {
  using F = std::conditional_t<form == GeluForm::exact, functor::Gelu, functor::GeluTanh>;
  return elementwise(F{}, std::forward<X>(x));
}

/// x limited to [low, high]; each bound a number or a tensor. Where low > high the result is high, as in PyTorch.
template <class X, class Low, class High>
  requires(detail::Operand<X> && Combinable<X, Low> && Combinable<X, High>)
[[nodiscard]] auto clamp(X&& x, Low&& low, High&& high) {
  return elementwise(functor::Clamp{}, std::forward<X>(x), std::forward<Low>(low), std::forward<High>(high));
}

/// x where the condition holds, y elsewhere. The condition is a bool tensor; x or y may be a number.
template <class C, class X, class Y>
  requires(TensorLike<C> && std::is_same_v<value_of<C>, bool> && Combinable<X, Y> &&
           (!TensorLike<X> || SameDevice<C, X>) && (!TensorLike<Y> || SameDevice<C, Y>))
[[nodiscard]] auto where(C&& condition, X&& x, Y&& y) {
  return elementwise(functor::Where{}, std::forward<C>(condition), std::forward<X>(x), std::forward<Y>(y));
}

LOCUS_REFUSE_THREE(clamp, "clamp(x, low, high)")
LOCUS_REFUSE_THREE(where, "where(condition, x, y)")

namespace detail {

/// target = part, through a temporary where an input overlaps the target in another layout.
template <class T, class D, class P>
void update(const Tensor<T, D>& target, const P& part) {
  if (!(part.shape == target.shape())) {
    fail<ShapeError>({"in-place operation: an operand of shape ", part.shape,
                      " does not broadcast to the target's shape ", target.shape()});
  }
  target.layout().require_distinct_elements("in-place operation");
  unpack(part.leaves, [&](const auto&... leaf) {
    (require_fresh(leaf), ...);
    const auto unsafe = [&](const auto& input) {
      return input.buffer() == target.buffer() && conflicts(input.expand(target.shape()), target);
    };
    const bool through_temporary = (unsafe(leaf.handle.value()) || ...);
    const Tensor<T, D> result = through_temporary ? Tensor<T, D>(target.shape(), target.device()) : target;
    compute(part.tree, result, leaf.handle.value()...);
    if (through_temporary) copy_elements(result, target);
  });
  target.changed();
}

template <class Y, class T, class D>
concept UpdateOperand = Combinable<Tensor<T, D>, Y> && (Scalar<Y> || bare_t<Y>::role != Role::traced);

}  // namespace detail

// In place: the target's elements change, whoever shares them. A plain operand only: a traced one would lose its
// gradient. throws ShapeError unless the operand broadcasts to the target; ArgumentError for an expanded target

#define LOCUS_UPDATE(name, Functor)                                                                  \
  template <class T, class D, class Y>                                                               \
    requires detail::UpdateOperand<Y, T, D>                                                          \
  const Tensor<T, D>& name(const Tensor<T, D>& target, Y&& operand) {                                \
    using namespace detail;                                                                          \
    update(target, join_parts(Functor{}, as_part<T>(target), as_part<T>(std::forward<Y>(operand)))); \
    return target;                                                                                   \
  }

LOCUS_UPDATE(operator+=, functor::Add)
LOCUS_UPDATE(operator-=, functor::Subtract)
LOCUS_UPDATE(operator*=, functor::Multiply)
LOCUS_UPDATE(operator/=, functor::Divide)
LOCUS_UPDATE(operator%=, functor::Remainder)

#undef LOCUS_UPDATE

LOCUS_REFUSE_MIXED(operator+=, "a += b")
LOCUS_REFUSE_MIXED(operator-=, "a -= b")
LOCUS_REFUSE_MIXED(operator*=, "a *= b")
LOCUS_REFUSE_MIXED(operator/=, "a /= b")
LOCUS_REFUSE_MIXED(operator%=, "a %= b")

namespace detail {
template <class X, class Y>
concept UpdatesTraced = TensorLike<X> && bare_t<X>::role == Role::traced && !Mistake<X, Y>::found;
template <class X, class Y>
concept UpdatesPending = is_expr<X> && bare_t<X>::role != Role::traced && !Mistake<X, Y>::found;
}  // namespace detail

#if LOCUS_CLANG_REFUSES
LOCUS_REFUSALS_BEGIN
#define LOCUS_REFUSE_UPDATE(name, text)                                                                           \
  template <class X, class Y>                                                                                     \
    requires detail::UpdatesTraced<X, Y>                                                                          \
  error::refused name(const X&, const Y&) __attribute__((diagnose_if(                                             \
      true, text ": the target is traced, and a gradient would be lost; change its value, x.value()", "error"))); \
  template <class X, class Y>                                                                                     \
    requires detail::UpdatesPending<X, Y>                                                                         \
  error::refused name(const X&, const Y&) __attribute__((diagnose_if(                                             \
      true, text ": the target is a pending expression; name it as a Tensor (Tensor x = ...), then change it",    \
      "error")));
#else
#define LOCUS_REFUSE_UPDATE(name, text)                                                                           \
  template <class X, class Y,                                                                                     \
            class why = error::not_possible<error::in_place_on_a_traced_tensor, error::change_its_value_x_value>> \
    requires detail::UpdatesTraced<X, Y>                                                                          \
  void name(const X&, const Y&) = delete;                                                                         \
  template <class X, class Y,                                                                                     \
            class why = error::not_possible<error::in_place_on_a_pending_expression, error::name_it_as_a_Tensor>> \
    requires detail::UpdatesPending<X, Y>                                                                         \
  void name(const X&, const Y&) = delete;
#endif

LOCUS_REFUSE_UPDATE(operator+=, "a += b")
LOCUS_REFUSE_UPDATE(operator-=, "a -= b")
LOCUS_REFUSE_UPDATE(operator*=, "a *= b")
LOCUS_REFUSE_UPDATE(operator/=, "a /= b")
LOCUS_REFUSE_UPDATE(operator%=, "a %= b")
#undef LOCUS_REFUSE_UPDATE
#if LOCUS_CLANG_REFUSES
LOCUS_REFUSALS_END
#endif

}  // namespace locus::inline LOCUS_ABI
