#pragma once
// What can be wrong with operands: a mistake is a type, computed before the operation's own result type, and refuse.inc
// says it in the compiler's first line.

#include <locus/expr/expr.hpp>

namespace locus::inline LOCUS_ABI::detail {

template <class X>
concept Computes = TensorLike<X> && Device<device_of<X>>;

/// Whether a number may stand beside elements of T: no fraction beside integers, nothing but bool beside bool.
template <class S, class T>
concept ScalarFits = Scalar<S> && (FloatingDType<T> || (IntegerDType<T> && std::is_integral_v<bare_t<S>>) ||
                                   (std::is_same_v<T, bool> && std::is_same_v<bare_t<S>, bool>));

/// A parameter that met nothing: its gradient would be lost.
template <class X>
struct ParameterMistake : NoMistake {};
template <IsParameter X>
struct ParameterMistake<X>
    : MistakeOf<Wrong::parameters, error::not_possible<error::operation_on_parameters_alone,
                                                       error::say_trace_w_or_w_value_or_seen_by_x_w>> {};

/// A tensor in memory that computes nothing.
template <class X>
struct MemoryMistake : NoMistake {};
template <TensorLike X>
  requires(!Computes<X>)
struct MemoryMistake<X>
    : MistakeOf<Wrong::memory,
                error::not_possible<error::tensor_is_on<device_of<X>>,
                                    error::pinned_memory_cannot_compute_move_with_to_Cpu_or_to_Cuda>,
                device_of<X>> {};

template <InFlight X>
struct MemoryMistake<X> : InFlightMistake {};

/// What is wrong with an operand alone.
template <class X>
struct OperandMistake : MemoryMistake<X> {};
template <IsParameter X>
  requires Computes<X>
struct OperandMistake<X> : ParameterMistake<X> {};

/// A tensor of integers or bool where floating-point numbers are needed.
template <class X>
struct IntegerMistake : NoMistake {};
template <TensorLike X>
  requires(!FloatingDType<value_of<X>>)
struct IntegerMistake<X>
    : MistakeOf<Wrong::integers,
                error::dtype_mismatch<error::tensor_holds<value_of<X>>, error::convert_with_as_float>> {};

/// What is wrong with the operand of a function of floating-point numbers.
template <class X>
struct FloatingMistake : FirstMistake<OperandMistake<X>, IntegerMistake<X>> {};

/// Two operands in two places. LeftOn and RightOn are how g++ and nvcc call them, as in error::left_is_on<Cpu>.
template <class L, class R, template <class> class LeftOn = error::left_is_on,
          template <class> class RightOn = error::right_is_on, class Remedy = error::move_one_with_to_Cpu_or_to_Cuda>
struct PlaceMistake : NoMistake {};
template <HasPlace L, HasPlace R, template <class> class LeftOn, template <class> class RightOn, class Remedy>
  requires(!SameDevice<L, R>)
struct PlaceMistake<L, R, LeftOn, RightOn, Remedy>
    : MistakeOf<Wrong::places, error::device_mismatch<LeftOn<device_of<L>>, RightOn<device_of<R>>, Remedy>,
                device_of<L>, device_of<R>> {};

/// What is wrong with two tensors together.
template <class L, class R>
[[nodiscard]] consteval Wrong wrong_pair() {
  if (!SameDevice<L, R>) return Wrong::places;
  if (!Computes<L>) return Wrong::memory;
  if (IsParameter<L> && IsParameter<R>) return Wrong::parameters;
  return std::is_same_v<value_of<L>, value_of<R>> ? Wrong::nothing : Wrong::types;
}
template <class L, class R, Wrong = wrong_pair<L, R>()>
struct TensorsMistake : NoMistake {};
template <class L, class R>
struct TensorsMistake<L, R, Wrong::places> : PlaceMistake<L, R> {};
template <class L, class R>
struct TensorsMistake<L, R, Wrong::memory> : MemoryMistake<L> {};
template <class L, class R>
struct TensorsMistake<L, R, Wrong::parameters> : ParameterMistake<L> {};
template <class L, class R>
struct TensorsMistake<L, R, Wrong::types> : TypeMistake<value_of<L>, value_of<R>> {};

/// What is wrong with a tensor and a number, of which L and R are the element types.
template <class X, class L, class R, bool fits>
struct NumberMistake : OperandMistake<X> {};
template <class X, class L, class R>
  requires IsWrong<OperandMistake<X>, Wrong::nothing>
struct NumberMistake<X, L, R, false> : TypeMistake<L, R> {};

/// What is wrong with two operands together, tensors or numbers.
template <class L, class R>
struct Mistake : NoMistake {};
template <TensorLike L, TensorLike R>
struct Mistake<L, R> : TensorsMistake<L, R> {};
template <TensorLike L, Scalar R>
struct Mistake<L, R> : NumberMistake<L, value_of<L>, bare_t<R>, ScalarFits<R, value_of<L>>> {};
template <Scalar L, TensorLike R>
struct Mistake<L, R> : NumberMistake<R, bare_t<L>, value_of<R>, ScalarFits<L, value_of<R>>> {};
template <class L, class R>
  requires(InFlight<L> || InFlight<R>)
struct Mistake<L, R> : InFlightMistake {};

/// Parameters and numbers alone, of however many operands.
template <class... X>
struct ParametersMistake : NoMistake {};
template <class... X>
  requires((IsParameter<X> || ...) && ((IsParameter<X> || !TensorLike<X>)&&...))
struct ParametersMistake<X...> : FirstMistake<ParameterMistake<X>...> {};

/// A parameter as the tensor that it is beside another operand: whether one is there, ParametersMistake asks of all.
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

/// What is wrong with two of several operands.
template <class L, class R>
struct PairMistake : Mistake<beside_others_t<L>, beside_others_t<R>> {};

/// What is wrong with the weights of an input, and with the bias beside them: never both, so that one refusal answers.
template <class X, class W, class... Others>
struct WeightMistake : FirstMistake<PlaceMistake<X, W, error::input_is_on, error::weights_are_on>, MemoryMistake<X>,
                                    ParametersMistake<X, W, Others...>, PairMistake<X, W>, IntegerMistake<X>> {};
template <class X, class W, class B>
struct BiasMistake : NoMistake {};
template <class X, class W, TensorLike B>
  requires IsWrong<WeightMistake<X, W, B>, Wrong::nothing>
struct BiasMistake<X, W, B>
    : FirstMistake<PlaceMistake<X, B, error::input_is_on, error::bias_is_on>, PairMistake<X, B>> {};

/// The first two of several operands, tensors or numbers, that are in two places.
template <class... X>
struct PlacesAmong : NoMistake {};
template <class X, class... Rest>
struct PlacesAmong<X, Rest...> : PlacesAmong<Rest...> {};
template <TensorLike X, class... Rest>
struct PlacesAmong<X, Rest...> : FirstMistake<PlaceMistake<X, Rest>...> {};

}  // namespace locus::inline LOCUS_ABI::detail

namespace locus::inline LOCUS_ABI {

/// Whether two operands, tensor-like or numbers, may meet in one operation: in one place, which computes, with one
/// element type, and not both of them parameters. For functions of your own too, in any namespace:
///
///     template <class X, class Y>
///       requires locus::Combinable<X, Y>
///     auto blend(const X& x, const Y& y) { return 0.5f * x + 0.5f * y; }
///
///     #define LOCUS_REFUSED blend(const L&, const R&)
///     #define LOCUS_REFUSED_CALL "blend(x, y)"
///     #include <locus/refuse/operands.inc>
///
/// The last three lines answer a call with other operands as the library's own operators do.
template <class L, class R>
concept Combinable = (TensorLike<L> || TensorLike<R>)&&(TensorLike<L> || Scalar<L>)&&(TensorLike<R> || Scalar<R>)&&(
    detail::Mistake<L, R>::wrong == detail::Wrong::nothing);

namespace detail {

template <class X>
concept Operand = TensorLike<X> && (OperandMistake<X>::wrong == Wrong::nothing);
template <class X>
concept FloatingOperand = Operand<X> && FloatingDType<value_of<X>>;

/// Of an operation with several operands: that two of them may meet, and that one of all records or is plain.
template <class L, class R>
concept CombinablePair = Combinable<beside_others_t<L>, beside_others_t<R>>;
template <class... X>
concept NotParametersAlone = IsWrong<ParametersMistake<bare_t<X>...>, Wrong::nothing>;

}  // namespace detail
}  // namespace locus::inline LOCUS_ABI
