#pragma once
// User-defined scalar functions, and formulas as one expression.

#include <locus/expr/operands.hpp>

namespace locus { inline namespace LOCUS_ABI {

namespace detail {
/// Type of an argument that F receives in registers; a number beside a tensor is converted to the tensor's type.
template <class X, class T>
using argument_t = compute_t<typename CommonValue<Tensor<T, Cpu>, X>::type>;

/// Whether F defines a derivative for arguments of these types.
template <class F, class... R>
concept HasDerivative =
    requires { F::differentiable; } || requires(const F& f, R... x) { f.by_inputs(x...); } ||
    requires(const F& f, R... x) { f.by_input(x...); } || requires(const F& f, R... x) { f.by_output(f(x...)); } ||
    requires(const F& f, R... x) { f.pullback(f(x...), f(x...), x...); };
template <class X>
concept TracedFloats = TensorLike<X> && bare_t<X>::role == Role::traced && FloatingDType<value_of<X>>;

/// Whether a function without a derivative has a traced floating-point argument.
template <class F, class... X>
concept LosesGradient =
    (TracedFloats<X> || ...) && !HasDerivative<F, argument_t<bare_t<X>, typename CommonValue<bare_t<X>...>::type>...>;

/// Whether a function can be copied byte by byte to the device that runs it.
template <class F>
concept Travels = std::is_trivially_copyable_v<F>;

/// The mistake in combining tensors and numbers in one expression, element types aside.
template <class... X>
struct ExpressionMistake : FirstMistake<PlacesAmong<X...>, MemoryMistake<X>..., ParametersMistake<X...>> {};
template <class... X>
concept TogetherInOnePlace = IsWrong<ExpressionMistake<bare_t<X>...>, Wrong::nothing>;
}  // namespace detail

/// A scalar function of tensors and numbers, pending: elementwise(MyFunction{}, x). Operands broadcast as in NumPy.
/// If they have more leaves together than one launch takes, operands that are temporary expressions are computed first.
/// throws ShapeError naming both shapes
template <class F, class... X>
  requires(detail::TogetherInOnePlace<X...> && detail::Travels<F> && !detail::LosesGradient<F, X...>)
[[nodiscard]] auto elementwise(const F& f, X&&... x) {
  return detail::pending(f, std::forward<X>(x)...);
}

namespace detail {
/// Result type of a formula called with symbols for tensors X on D.
template <class F, class D, class Indices, class... X>
struct FormulaOf;
template <class F, class D, int... i, class... X>
  requires std::is_invocable_v<const F&, Symbolic<value_of<X>, D, Symbol<i>>...>
struct FormulaOf<F, D, std::integer_sequence<int, i...>, X...> {
  using type = decltype(std::declval<const F&>()(Symbolic<value_of<X>, D, Symbol<i>>{}...));
};
template <class F, class... X>
using formula_t = typename FormulaOf<F, device_of<first_with_place_t<X...>>,
                                     std::make_integer_sequence<int, sizeof...(X)>, bare_t<X>...>::type;

template <class X>
inline constexpr bool is_formula = false;
template <class T, class D, class Tree>
inline constexpr bool is_formula<Symbolic<T, D, Tree>> = !has_unbound_operand<Tree>;

/// Whether F can be called with symbols for tensors X.
template <class F, class... X>
concept Formula = requires { typename formula_t<F, X...>; };
/// Whether the formula also uses its arguments and numbers alone.
template <class F, class... X>
concept FormulaAlone = Formula<F, X...> && is_formula<bare_t<formula_t<F, X...>>>;
}  // namespace detail

/// The formula as one expression: the function runs once on symbols, so each tensor is loaded once, however often the
/// formula uses it. Up to about eight tensors fit the registers well. A symbol is converted like a tensor:
/// x.template as<double>().
///
///     auto y = fuse([](auto x, auto b) { return relu(x * 2.f + b); }, x, b);
template <class F, TensorLike... X>
  requires(detail::TogetherInOnePlace<X...> && detail::FormulaAlone<F, X...>)
[[nodiscard]] auto fuse(const F& formula, X&&... x) {
  using D = device_of<detail::first_with_place_t<X...>>;
  const auto symbolic = [&]<int... i>(std::integer_sequence<int, i...>) {
    return formula(Symbolic<value_of<X>, D, Symbol<i>>{}...);
  }(std::make_integer_sequence<int, sizeof...(X)>{});
  const Shape shape = detail::joint_shape("fuse", {x.value().shape()...});
  using Result = detail::bare_t<decltype(symbolic)>;
  const auto handle = [](auto&& operand) -> decltype(auto) {
    if constexpr (detail::is_expr<decltype(operand)>) return operand.eval();
    else return (operand);
  };
  return Expr<typename Result::value_type, D, decltype(symbolic.tree), detail::bare_t<decltype(handle(x))>...>(
      {symbolic.tree, {detail::Leaf(handle(x))...}, shape});
}
#include <locus/refuse/expr/elementwise.inc>

}}  // namespace locus::LOCUS_ABI
