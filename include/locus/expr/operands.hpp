#pragma once
// Operands that may be combined in one operation. For other operands a type, the mistake, is computed before the
// operation's result type; refuse/operands.inc states the mistake in the compiler's first line.

// First, so that the compiler's path to what a tensor refuses is short.
#include <locus/tensor/tensor.hpp>

#include <locus/expr/expr.hpp>

namespace locus { inline namespace LOCUS_ABI { namespace detail {

template <class X>
concept Computes = TensorLike<X> && Device<device_of<X>>;

/// Whether a number may be combined with elements of T: no fraction with integers, only bool with bool, complex numbers
/// with complex numbers alone, a dual with duals.
template <class S, class T>
concept ScalarFits = Scalar<S> && (!is_dual<bare_t<S>> || std::is_same_v<bare_t<S>, T> || lifts_to<bare_t<S>, T>)&&(
                                      ComplexDType<T> || (FloatingDType<T> && !ComplexNumber<bare_t<S>>) ||
                                      (IntegerDType<T> && std::is_integral_v<bare_t<S>>) ||
                                      (std::is_same_v<T, bool> && std::is_same_v<bare_t<S>, bool>));

/// The type as which an operand is checked beside others: a parameter counts as a plain tensor. (ParametersMistake
/// refuses parameters alone.)
template <class X>
struct BesideOthers {
  using type = X;
};
template <IsParameter X>
struct BesideOthers<X> {
  using type = Tensor<value_of<X>, device_of<X>>;
};
template <class X>
using beside_others_t = typename BesideOthers<bare_t<X>>::type;

/// A tensor-like operand of indices or labels: int64, on a device that computes.
template <class X>
concept IndexOperand = TensorLike<X> && std::is_same_v<value_of<X>, std::int64_t> && Computes<X>;

#include <locus/refuse/expr/operands_mistakes.inc>

}}}  // namespace locus::LOCUS_ABI::detail

namespace locus { inline namespace LOCUS_ABI {

/// Whether two operands, tensor-like or numbers, may be combined in one operation: in one place that computes, with one
/// element type, and not both parameters. Also for user-defined functions, in any namespace:
///
///     template <class X, class Y>
///       requires locus::Combinable<X, Y>
///     auto blend(const X& x, const Y& y) { return 0.5f * x + 0.5f * y; }
///
///     #define LOCUS_REFUSED blend(const L&, const R&)
///     #define LOCUS_REFUSED_CALL "blend(x, y)"
///     #include <locus/refuse/operands.inc>
///
/// The last three lines give a call with other operands the same error message as the library's operators.
template <class L, class R>
concept Combinable = (TensorLike<L> || TensorLike<R>)&&(TensorLike<L> || Scalar<L>)&&(TensorLike<R> || Scalar<R>)&&(
    detail::Mistake<L, R>::wrong == detail::Wrong::nothing);

namespace detail {

template <class X>
concept Operand = TensorLike<X> && (OperandMistake<X>::wrong == Wrong::nothing);
template <class X>
concept FloatingOperand = Operand<X> && FloatingDType<value_of<X>>;
template <class X>
concept ComplexOperand = Operand<X> && ComplexDType<value_of<X>>;
/// Floating-point or complex numbers.
template <class X>
concept DifferentiableOperand = Operand<X> && DifferentiableDType<value_of<X>>;
/// Any numbers but complex ones.
template <class X>
concept RealOperand = Operand<X> && !ComplexDType<value_of<X>>;

template <class X>
concept RealOrNumber = !TensorLike<X> || !ComplexDType<value_of<X>>;
/// Operands of a function that complex numbers do not have, such as an order.
template <class L, class R>
concept CombinableReal = Combinable<L, R> && RealOrNumber<L> && RealOrNumber<R>;

/// For operations with several operands: two of them may be combined; not all of them are parameters.
template <class L, class R>
concept CombinablePair = Combinable<beside_others_t<L>, beside_others_t<R>>;
template <class... X>
concept NotParametersAlone = IsWrong<ParametersMistake<bare_t<X>...>, Wrong::nothing>;
/// Operands of a normalization of X with weights.
template <class X, class... W>
concept NormalizedWith = Computes<X> && FloatingDType<value_of<X>> && (TensorLike<W> && ...) &&
                         (CombinablePair<X, W> && ...) && NotParametersAlone<X, W...>;

}  // namespace detail
}}  // namespace locus::LOCUS_ABI
