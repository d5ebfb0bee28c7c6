#pragma once
// How a function of two tensors refuses operands that do not belong together: the compiler's first line says which
// operand is where and what to write instead, in the user's own file, and the call stays detectable with `requires`.
//
// g++ and nvcc print the template arguments of a deleted function, so the mistake is one of them (`why`). clang does
// not, but prints the text of diagnose_if; its overloads return a type that is never defined, so that they stay
// detectable.

#include <locus/expr/expr.hpp>

namespace locus::inline LOCUS_ABI::detail {

template <class X>
concept Computes = TensorLike<X> && Device<device_of<X>>;

/// Whether a number may stand beside elements of T: no fraction beside integers, nothing but bool beside bool.
template <class S, class T>
concept ScalarFits = Scalar<S> && (FloatingDType<T> || (IntegerDType<T> && std::is_integral_v<bare_t<S>>) ||
                                   (std::is_same_v<T, bool> && std::is_same_v<bare_t<S>, bool>));

template <class X>
concept IsParameter = TensorLike<X> && bare_t<X>::role == Role::parameter;

/// What is wrong with an operand alone: it lives in memory that computes nothing, or it is a parameter that met
/// nothing.
template <class X>
struct OperandMistake {
  static constexpr bool found = false;
  using type = void;
};
template <TensorLike X>
struct OperandMistake<X> {
  static constexpr bool found = !Computes<X>;
  using type = error::not_possible<error::tensor_is_on<device_of<X>>,
                                   error::pinned_memory_cannot_compute_move_with_to_Cpu_or_to_Cuda>;
};
template <IsParameter X>
struct OperandMistake<X> {
  static constexpr bool found = true;
  using type = error::not_possible<error::operation_on_parameters_alone, error::say_trace_w_or_w_value_or_seen_by_x_w>;
};

/// What is wrong with two operands together.
template <class L, class R>
struct Mistake {
  static constexpr bool found = false;
  using type = void;
};
template <TensorLike L, TensorLike R>
struct Mistake<L, R> {
  static constexpr bool devices = !std::is_same_v<device_of<L>, device_of<R>>;
  static constexpr bool memory = !Computes<L>;
  static constexpr bool parameters = IsParameter<L> && IsParameter<R>;
  static constexpr bool dtypes = !std::is_same_v<value_of<L>, value_of<R>>;
  static constexpr bool found = devices || memory || parameters || dtypes;
  static auto pick() {
    if constexpr (devices) {
      return std::type_identity<error::device_mismatch<
          error::left_is_on<device_of<L>>, error::right_is_on<device_of<R>>, error::move_one_with_to_Cpu_or_to_Cuda>>{};
    } else if constexpr (memory || parameters) {
      return std::type_identity<typename OperandMistake<L>::type>{};
    } else {
      return std::type_identity<error::dtype_mismatch<error::left_holds<value_of<L>>, error::right_holds<value_of<R>>,
                                                      error::convert_one_with_as_T>>{};
    }
  }
  using type = typename decltype(pick())::type;
};
template <TensorLike L, Scalar R>
struct Mistake<L, R> {
  static constexpr bool found = OperandMistake<L>::found || !ScalarFits<R, value_of<L>>;
  using type = std::conditional_t<OperandMistake<L>::found, typename OperandMistake<L>::type,
                                  error::dtype_mismatch<error::left_holds<value_of<L>>, error::right_holds<bare_t<R>>,
                                                        error::convert_one_with_as_T>>;
};
template <Scalar L, TensorLike R>
struct Mistake<L, R> {
  static constexpr bool found = OperandMistake<R>::found || !ScalarFits<L, value_of<R>>;
  using type = std::conditional_t<OperandMistake<R>::found, typename OperandMistake<R>::type,
                                  error::dtype_mismatch<error::left_holds<bare_t<L>>, error::right_holds<value_of<R>>,
                                                        error::convert_one_with_as_T>>;
};

template <class L, class R>
concept Refused = Mistake<L, R>::found;
}  // namespace locus::inline LOCUS_ABI::detail

namespace locus::inline LOCUS_ABI {

/// Whether two operands, tensor-like or numbers, may meet in one operation: in one place, which computes, with one
/// element type, and not both of them parameters.
template <class L, class R>
concept Combinable = (TensorLike<L> || TensorLike<R>)&&(TensorLike<L> || Scalar<L>)&&(
    TensorLike<R> || Scalar<R>)&&!detail::Mistake<L, R>::found;

}  // namespace locus::inline LOCUS_ABI

namespace locus::inline LOCUS_ABI::detail {

template <class X>
concept Operand = TensorLike<X> && !OperandMistake<X>::found;

/// What is wrong with one operand of a function of floating-point numbers.
template <class X>
struct UnaryMistake {
  using type = void;
};
template <TensorLike X>
struct UnaryMistake<X> {
  using type =
      std::conditional_t<OperandMistake<X>::found, typename OperandMistake<X>::type,
                         error::dtype_mismatch<error::tensor_holds<value_of<X>>, error::convert_with_as_float>>;
};

/// The first two of three operands that live in different places.
template <class A, class B, class C>
struct PlacesOfThree {
  static constexpr bool found = false;
};
template <class A, class B, class C>
  requires(TensorLike<A> && TensorLike<B> && !SameDevice<A, B>)
struct PlacesOfThree<A, B, C> : Mistake<A, B> {
  using left = device_of<A>;
  using right = device_of<B>;
};
template <class A, class B, class C>
  requires(TensorLike<A> && TensorLike<C> && !SameDevice<A, C> && (!TensorLike<B> || SameDevice<A, B>))
struct PlacesOfThree<A, B, C> : Mistake<A, C> {
  using left = device_of<A>;
  using right = device_of<C>;
};
template <class A, class B, class C>
  requires(!TensorLike<A> && TensorLike<B> && TensorLike<C> && !SameDevice<B, C>)
struct PlacesOfThree<A, B, C> : Mistake<B, C> {
  using left = device_of<B>;
  using right = device_of<C>;
};
template <class A, class B, class C, class Left, class Right>
concept ThreePlacedOn = PlacesOfThree<A, B, C>::found && std::is_same_v<typename PlacesOfThree<A, B, C>::left, Left> &&
                        std::is_same_v<typename PlacesOfThree<A, B, C>::right, Right>;

template <class L, class R, class A, class B>
concept PlacedOn = TensorLike<L> && TensorLike<R> && std::is_same_v<device_of<L>, A> && std::is_same_v<device_of<R>, B>;
template <class L, class R>
concept RefusedOtherwise = Refused<L, R> && !(TensorLike<L> && TensorLike<R> && !SameDevice<L, R>);

template <class X>
concept LiesInMemoryOnly = TensorLike<X> && !Computes<X>;
template <class X>
concept NotOfKind = TensorLike<X> && !IsParameter<X> && !LiesInMemoryOnly<X>;
template <class L, class R>
concept RefusedAsMemory = RefusedOtherwise<L, R> && (LiesInMemoryOnly<L> || LiesInMemoryOnly<R>);
template <class L, class R>
concept RefusedAsParameters = RefusedOtherwise<L, R> && !RefusedAsMemory<L, R> &&
                              (IsParameter<L> || !TensorLike<L>)&&(IsParameter<R> || !TensorLike<R>);
template <class L, class R>
concept RefusedAsTypes = RefusedOtherwise<L, R> && !RefusedAsMemory<L, R> && !RefusedAsParameters<L, R>;

}  // namespace locus::inline LOCUS_ABI::detail

// From here on, as a header of the system: g++ then does not explain the macros in three more lines of an error.
#pragma GCC system_header

#if defined(__clang__) && !LOCUS_NVCC
// Every attribute is spelled in the one macro that the headers name: clang adds three lines for each macro within a
// macro.
#define LOCUS_LEFT_RIGHT_(A, B) \
  ": left operand is on " A ", right operand is on " B "; move one with .to<Cpu>() or .to<Cuda>()"
#define LOCUS_OTHER_TYPES_ ": the operands hold different element types; convert one with .as<T>()"
#define LOCUS_LOST_GRADIENT_ " would lose its gradient; say trace(w), w.value() or seen_by(x, w)"
#define LOCUS_MEMORY_ONLY_ ": nothing computes in pinned memory; move with .to<Cpu>() or .to<Cuda>()"
/// Refuses operands that are not Combinable in a function or operator of two, `name`; `what` is how messages call it.
/// For functions of your own too, beside one that requires Combinable, in any namespace:
///
///     template <class X, class Y>
///       requires locus::Combinable<X, Y>
///     auto blend(const X& x, const Y& y) { return 0.5f * x + 0.5f * y; }
///     LOCUS_REFUSE_MIXED(blend, "blend(x, y)")
#define LOCUS_REFUSE_MIXED(name, what)                                                                                 \
  LOCUS_REFUSALS_BEGIN                                                                                                 \
  template <class L, class R>                                                                                          \
    requires(locus::detail::PlacedOn<L, R, locus::Cpu, locus::Cuda>)                                                   \
  locus::error::refused name(const L&, const R&)                                                                       \
      __attribute__((diagnose_if(true, what LOCUS_LEFT_RIGHT_("Cpu", "Cuda"), "error")));                              \
  template <class L, class R>                                                                                          \
    requires(locus::detail::PlacedOn<L, R, locus::Cuda, locus::Cpu>)                                                   \
  locus::error::refused name(const L&, const R&)                                                                       \
      __attribute__((diagnose_if(true, what LOCUS_LEFT_RIGHT_("Cuda", "Cpu"), "error")));                              \
  template <class L, class R>                                                                                          \
    requires(locus::detail::PlacedOn<L, R, locus::Cpu, locus::Pinned>)                                                 \
  locus::error::refused name(const L&, const R&)                                                                       \
      __attribute__((diagnose_if(true, what LOCUS_LEFT_RIGHT_("Cpu", "Pinned"), "error")));                            \
  template <class L, class R>                                                                                          \
    requires(locus::detail::PlacedOn<L, R, locus::Pinned, locus::Cpu>)                                                 \
  locus::error::refused name(const L&, const R&)                                                                       \
      __attribute__((diagnose_if(true, what LOCUS_LEFT_RIGHT_("Pinned", "Cpu"), "error")));                            \
  template <class L, class R>                                                                                          \
    requires(locus::detail::PlacedOn<L, R, locus::Cuda, locus::Pinned>)                                                \
  locus::error::refused name(const L&, const R&)                                                                       \
      __attribute__((diagnose_if(true, what LOCUS_LEFT_RIGHT_("Cuda", "Pinned"), "error")));                           \
  template <class L, class R>                                                                                          \
    requires(locus::detail::PlacedOn<L, R, locus::Pinned, locus::Cuda>)                                                \
  locus::error::refused name(const L&, const R&)                                                                       \
      __attribute__((diagnose_if(true, what LOCUS_LEFT_RIGHT_("Pinned", "Cuda"), "error")));                           \
  template <class L, class R>                                                                                          \
    requires(locus::detail::RefusedAsTypes<L, R>)                                                                      \
  locus::error::refused name(const L&, const R&) __attribute__((diagnose_if(true, what LOCUS_OTHER_TYPES_, "error"))); \
  template <class L, class R>                                                                                          \
    requires(locus::detail::RefusedAsParameters<L, R>)                                                                 \
  locus::error::refused name(const L&, const R&)                                                                       \
      __attribute__((diagnose_if(true, what " of parameters alone" LOCUS_LOST_GRADIENT_, "error")));                   \
  template <class L, class R>                                                                                          \
    requires(locus::detail::RefusedAsMemory<L, R>)                                                                     \
  locus::error::refused name(const L&, const R&) __attribute__((diagnose_if(true, what LOCUS_MEMORY_ONLY_, "error"))); \
  LOCUS_REFUSALS_END
#else
/// Refuses mixed operands of the function or operator `name`; `what` is how messages call it. See the top of the file.
#define LOCUS_REFUSE_MIXED(name, what)                                                 \
  template <class L, class R, class why = typename locus::detail::Mistake<L, R>::type> \
    requires locus::detail::Refused<L, R>                                              \
  void name(const L&, const R&) = delete;
#endif

/// Refuses a parameter alone in a function of one tensor and the arguments of these types: its gradient would be lost.
#if defined(__clang__) && !LOCUS_NVCC
#define LOCUS_REFUSE_PARAMETER(name, what, ...)                                                           \
  _Pragma("clang diagnostic push")                                                                        \
      _Pragma("clang diagnostic ignored \"-Wgcc-compat\"") template <locus::detail::IsParameter X>        \
      locus::error::refused name(const X& __VA_OPT__(, ) __VA_ARGS__)                                     \
          __attribute__((diagnose_if(true, what " of a parameter alone" LOCUS_LOST_GRADIENT_, "error"))); \
  _Pragma("clang diagnostic pop")
#else
#define LOCUS_REFUSE_PARAMETER(name, what, ...)                                                        \
  template <locus::detail::IsParameter X, class why = typename locus::detail::OperandMistake<X>::type> \
  void name(const X& __VA_OPT__(, ) __VA_ARGS__) = delete;
#endif

// LOCUS_REFUSE_UNARY  a function of one tensor that is not of this kind, a concept of detail, and the further arguments
// LOCUS_REFUSE_THREE  a function of three operands of which two live in different places
#if defined(__clang__) && !LOCUS_NVCC
#define LOCUS_INTEGERS_ \
  ": the tensor holds integers, where floating-point numbers are needed; convert with .as<float>()"
#define LOCUS_REFUSE_UNARY(name, kind, ...)                                                            \
  LOCUS_REFUSALS_BEGIN                                                                                 \
  template <class X>                                                                                   \
    requires(locus::detail::IsParameter<X>)                                                            \
  locus::error::refused name(const X& __VA_OPT__(, ) __VA_ARGS__)                                      \
      __attribute__((diagnose_if(true, #name " of a parameter alone" LOCUS_LOST_GRADIENT_, "error"))); \
  template <class X>                                                                                   \
    requires(locus::detail::LiesInMemoryOnly<X>)                                                       \
  locus::error::refused name(const X& __VA_OPT__(, ) __VA_ARGS__)                                      \
      __attribute__((diagnose_if(true, #name LOCUS_MEMORY_ONLY_, "error")));                           \
  template <class X>                                                                                   \
    requires(locus::detail::NotOfKind<X> && !locus::detail::kind<X>)                                   \
  locus::error::refused name(const X& __VA_OPT__(, ) __VA_ARGS__)                                      \
      __attribute__((diagnose_if(true, #name LOCUS_INTEGERS_, "error")));                              \
  LOCUS_REFUSALS_END
#define LOCUS_ONE_ANOTHER_(A, B) ": one operand is on " A ", another on " B "; move one with .to<Cpu>() or .to<Cuda>()"
#define LOCUS_REFUSE_THREE(name, what)                                                        \
  LOCUS_REFUSALS_BEGIN                                                                        \
  template <class X, class Y, class Z>                                                        \
    requires(locus::detail::ThreePlacedOn<X, Y, Z, locus::Cpu, locus::Cuda>)                  \
  locus::error::refused name(const X&, const Y&, const Z&)                                    \
      __attribute__((diagnose_if(true, what LOCUS_ONE_ANOTHER_("Cpu", "Cuda"), "error")));    \
  template <class X, class Y, class Z>                                                        \
    requires(locus::detail::ThreePlacedOn<X, Y, Z, locus::Cuda, locus::Cpu>)                  \
  locus::error::refused name(const X&, const Y&, const Z&)                                    \
      __attribute__((diagnose_if(true, what LOCUS_ONE_ANOTHER_("Cuda", "Cpu"), "error")));    \
  template <class X, class Y, class Z>                                                        \
    requires(locus::detail::ThreePlacedOn<X, Y, Z, locus::Cpu, locus::Pinned>)                \
  locus::error::refused name(const X&, const Y&, const Z&)                                    \
      __attribute__((diagnose_if(true, what LOCUS_ONE_ANOTHER_("Cpu", "Pinned"), "error")));  \
  template <class X, class Y, class Z>                                                        \
    requires(locus::detail::ThreePlacedOn<X, Y, Z, locus::Pinned, locus::Cpu>)                \
  locus::error::refused name(const X&, const Y&, const Z&)                                    \
      __attribute__((diagnose_if(true, what LOCUS_ONE_ANOTHER_("Pinned", "Cpu"), "error")));  \
  template <class X, class Y, class Z>                                                        \
    requires(locus::detail::ThreePlacedOn<X, Y, Z, locus::Cuda, locus::Pinned>)               \
  locus::error::refused name(const X&, const Y&, const Z&)                                    \
      __attribute__((diagnose_if(true, what LOCUS_ONE_ANOTHER_("Cuda", "Pinned"), "error"))); \
  template <class X, class Y, class Z>                                                        \
    requires(locus::detail::ThreePlacedOn<X, Y, Z, locus::Pinned, locus::Cuda>)               \
  locus::error::refused name(const X&, const Y&, const Z&)                                    \
      __attribute__((diagnose_if(true, what LOCUS_ONE_ANOTHER_("Pinned", "Cuda"), "error"))); \
  LOCUS_REFUSALS_END
#else
#define LOCUS_REFUSE_UNARY(name, kind, ...)                                                 \
  template <locus::TensorLike X, class why = typename locus::detail::UnaryMistake<X>::type> \
    requires(!locus::detail::kind<X>)                                                       \
  void name(const X& __VA_OPT__(, ) __VA_ARGS__) = delete;
#define LOCUS_REFUSE_THREE(name, what)                                                                   \
  template <class X, class Y, class Z, class why = typename locus::detail::PlacesOfThree<X, Y, Z>::type> \
    requires locus::detail::PlacesOfThree<X, Y, Z>::found                                                \
  void name(const X&, const Y&, const Z&) = delete;
#endif
