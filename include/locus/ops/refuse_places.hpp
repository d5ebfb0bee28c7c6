#pragma once
// Refusals for operations whose operands have names, such as logits and labels: as LOCUS_REFUSE_MIXED in
// expr/refuse.hpp, with the arguments that come after the two that do not belong together.

#include <locus/expr/refuse.hpp>

namespace locus::inline LOCUS_ABI::detail {

template <class A, class B>
concept PlacesDiffer = TensorLike<A> && TensorLike<B> && !std::is_same_v<device_of<A>, device_of<B>>;

/// Operands in one place that do not combine all the same: element types differ, or both are parameters.
template <class A, class B>
concept RefusedInPlace = TensorLike<A> && TensorLike<B> && !PlacesDiffer<A, B> && Refused<A, B>;

/// A tensor-like operand of indices or labels: of int64, on a device that computes.
template <class X>
concept IndexOperand = TensorLike<X> && std::is_same_v<value_of<X>, std::int64_t> && Computes<X>;
template <class A, class B>
concept IndexTypeDiffers =
    TensorLike<A> && TensorLike<B> && !PlacesDiffer<A, B> && !std::is_same_v<value_of<B>, std::int64_t>;

/// The last argument of functions that have no options.
struct NoOptions {};

}  // namespace locus::inline LOCUS_ABI::detail

// LOCUS_REFUSE_PLACES      the first two operands, called `first` and `second` ("the labels are"), live in different
//                          places; `Options` is the type of the argument that a braced list may stand for
// LOCUS_REFUSE_THIRD       the same for the first and third operand
// LOCUS_REFUSE_PAIR        the first two operands differ in element type, or are both parameters
// LOCUS_REFUSE_INDEX_TYPE  the second operand holds something other than int64
// LOCUS_REFUSE_THIRD_INDEX_TYPE  the same for the third

// From here on, as a header of the system: g++ then does not explain the macros in three more lines of an error.
#pragma GCC system_header

// Laid out by hand, since clang-format runs macros that follow one another together.
// clang-format off
#if defined(__clang__) && !LOCUS_NVCC
// One level of macros, since clang's notes list every one of them.
#define LOCUS_PLACES_(first, second, A, B)                                                                            \
  ": " first " on " A ", " second " on " B "; move one with .to<Cpu>() or .to<Cuda>()"
#define LOCUS_REFUSE_PLACES(name, what, first, second, First, Second, Options)                                        \
  LOCUS_REFUSALS_BEGIN                                                                                                \
  template <class L, class R>                                                                                         \
    requires locus::detail::PlacedOn<L, R, locus::Cpu, locus::Cuda>                                                   \
  locus::error::refused name(const L&, const R&, const Options& = {})                                                 \
      __attribute__((diagnose_if(true, what LOCUS_PLACES_(first, second, "Cpu", "Cuda"), "error")));                  \
  template <class L, class R, class Third, class... Rest>                                                             \
    requires locus::detail::PlacedOn<L, R, locus::Cpu, locus::Cuda>                                                   \
  locus::error::refused name(const L&, const R&, const Third&, const Rest&...)                                        \
      __attribute__((diagnose_if(true, what LOCUS_PLACES_(first, second, "Cpu", "Cuda"), "error")));                  \
  template <class L, class R>                                                                                         \
    requires locus::detail::PlacedOn<L, R, locus::Cuda, locus::Cpu>                                                   \
  locus::error::refused name(const L&, const R&, const Options& = {})                                                 \
      __attribute__((diagnose_if(true, what LOCUS_PLACES_(first, second, "Cuda", "Cpu"), "error")));                  \
  template <class L, class R, class Third, class... Rest>                                                             \
    requires locus::detail::PlacedOn<L, R, locus::Cuda, locus::Cpu>                                                   \
  locus::error::refused name(const L&, const R&, const Third&, const Rest&...)                                        \
      __attribute__((diagnose_if(true, what LOCUS_PLACES_(first, second, "Cuda", "Cpu"), "error")));                  \
  template <class L, class R>                                                                                         \
    requires locus::detail::PlacedOn<L, R, locus::Cpu, locus::Pinned>                                                 \
  locus::error::refused name(const L&, const R&, const Options& = {})                                                 \
      __attribute__((diagnose_if(true, what LOCUS_PLACES_(first, second, "Cpu", "Pinned"), "error")));                \
  template <class L, class R, class Third, class... Rest>                                                             \
    requires locus::detail::PlacedOn<L, R, locus::Cpu, locus::Pinned>                                                 \
  locus::error::refused name(const L&, const R&, const Third&, const Rest&...)                                        \
      __attribute__((diagnose_if(true, what LOCUS_PLACES_(first, second, "Cpu", "Pinned"), "error")));                \
  template <class L, class R>                                                                                         \
    requires locus::detail::PlacedOn<L, R, locus::Pinned, locus::Cpu>                                                 \
  locus::error::refused name(const L&, const R&, const Options& = {})                                                 \
      __attribute__((diagnose_if(true, what LOCUS_PLACES_(first, second, "Pinned", "Cpu"), "error")));                \
  template <class L, class R, class Third, class... Rest>                                                             \
    requires locus::detail::PlacedOn<L, R, locus::Pinned, locus::Cpu>                                                 \
  locus::error::refused name(const L&, const R&, const Third&, const Rest&...)                                        \
      __attribute__((diagnose_if(true, what LOCUS_PLACES_(first, second, "Pinned", "Cpu"), "error")));                \
  template <class L, class R>                                                                                         \
    requires locus::detail::PlacedOn<L, R, locus::Cuda, locus::Pinned>                                                \
  locus::error::refused name(const L&, const R&, const Options& = {})                                                 \
      __attribute__((diagnose_if(true, what LOCUS_PLACES_(first, second, "Cuda", "Pinned"), "error")));               \
  template <class L, class R, class Third, class... Rest>                                                             \
    requires locus::detail::PlacedOn<L, R, locus::Cuda, locus::Pinned>                                                \
  locus::error::refused name(const L&, const R&, const Third&, const Rest&...)                                        \
      __attribute__((diagnose_if(true, what LOCUS_PLACES_(first, second, "Cuda", "Pinned"), "error")));               \
  template <class L, class R>                                                                                         \
    requires locus::detail::PlacedOn<L, R, locus::Pinned, locus::Cuda>                                                \
  locus::error::refused name(const L&, const R&, const Options& = {})                                                 \
      __attribute__((diagnose_if(true, what LOCUS_PLACES_(first, second, "Pinned", "Cuda"), "error")));               \
  template <class L, class R, class Third, class... Rest>                                                             \
    requires locus::detail::PlacedOn<L, R, locus::Pinned, locus::Cuda>                                                \
  locus::error::refused name(const L&, const R&, const Third&, const Rest&...)                                        \
      __attribute__((diagnose_if(true, what LOCUS_PLACES_(first, second, "Pinned", "Cuda"), "error")));               \
  LOCUS_REFUSALS_END
#define LOCUS_REFUSE_THIRD(name, what, first, third, First, Third)                                                    \
  LOCUS_REFUSALS_BEGIN                                                                                                \
  template <class L, class M, class R, class... Rest>                                                                 \
    requires(!locus::detail::PlacesDiffer<L, M> && locus::detail::PlacedOn<L, R, locus::Cpu, locus::Cuda>)            \
  locus::error::refused name(const L&, const M&, const R&, const Rest&...)                                            \
      __attribute__((diagnose_if(true, what LOCUS_PLACES_(first, third, "Cpu", "Cuda"), "error")));                   \
  template <class L, class M, class R, class... Rest>                                                                 \
    requires(!locus::detail::PlacesDiffer<L, M> && locus::detail::PlacedOn<L, R, locus::Cuda, locus::Cpu>)            \
  locus::error::refused name(const L&, const M&, const R&, const Rest&...)                                            \
      __attribute__((diagnose_if(true, what LOCUS_PLACES_(first, third, "Cuda", "Cpu"), "error")));                   \
  template <class L, class M, class R, class... Rest>                                                                 \
    requires(!locus::detail::PlacesDiffer<L, M> && locus::detail::PlacedOn<L, R, locus::Cpu, locus::Pinned>)          \
  locus::error::refused name(const L&, const M&, const R&, const Rest&...)                                            \
      __attribute__((diagnose_if(true, what LOCUS_PLACES_(first, third, "Cpu", "Pinned"), "error")));                 \
  template <class L, class M, class R, class... Rest>                                                                 \
    requires(!locus::detail::PlacesDiffer<L, M> && locus::detail::PlacedOn<L, R, locus::Pinned, locus::Cpu>)          \
  locus::error::refused name(const L&, const M&, const R&, const Rest&...)                                            \
      __attribute__((diagnose_if(true, what LOCUS_PLACES_(first, third, "Pinned", "Cpu"), "error")));                 \
  template <class L, class M, class R, class... Rest>                                                                 \
    requires(!locus::detail::PlacesDiffer<L, M> && locus::detail::PlacedOn<L, R, locus::Cuda, locus::Pinned>)         \
  locus::error::refused name(const L&, const M&, const R&, const Rest&...)                                            \
      __attribute__((diagnose_if(true, what LOCUS_PLACES_(first, third, "Cuda", "Pinned"), "error")));                \
  template <class L, class M, class R, class... Rest>                                                                 \
    requires(!locus::detail::PlacesDiffer<L, M> && locus::detail::PlacedOn<L, R, locus::Pinned, locus::Cuda>)         \
  locus::error::refused name(const L&, const M&, const R&, const Rest&...)                                            \
      __attribute__((diagnose_if(true, what LOCUS_PLACES_(first, third, "Pinned", "Cuda"), "error")));                \
  LOCUS_REFUSALS_END
#define LOCUS_OPERANDS_DIFFER_                                                                                        \
  ": the operands hold different element types (convert one with .as<T>()), or are both parameters "                  \
  "(say trace(w), w.value() or seen_by(x, w)), or lie in pinned memory (move with .to<Cpu>() or .to<Cuda>())"
#define LOCUS_REFUSE_PAIR(name, what)                                                                                 \
  _Pragma("clang diagnostic push") _Pragma("clang diagnostic ignored \"-Wgcc-compat\"")                               \
  template <class L, class R, class... Rest>                                                                          \
    requires locus::detail::RefusedInPlace<L, R>                                                                      \
  locus::error::refused name(const L&, const R&, const Rest&...)                                                      \
      __attribute__((diagnose_if(true, what LOCUS_OPERANDS_DIFFER_, "error")));                                       \
  _Pragma("clang diagnostic pop")
#define LOCUS_REFUSE_INDEX_TYPE(name, what, second, Second, Options)                                                  \
  _Pragma("clang diagnostic push") _Pragma("clang diagnostic ignored \"-Wgcc-compat\"")                               \
  template <class L, class R>                                                                                         \
    requires locus::detail::IndexTypeDiffers<L, R>                                                                    \
  locus::error::refused name(const L&, const R&, const Options& = {})                                                 \
      __attribute__((diagnose_if(true, what ": " second " not int64; convert with .as<std::int64_t>()", "error")));   \
  template <class L, class R, class Third, class... Rest>                                                             \
    requires locus::detail::IndexTypeDiffers<L, R>                                                                    \
  locus::error::refused name(const L&, const R&, const Third&, const Rest&...)                                        \
      __attribute__((diagnose_if(true, what ": " second " not int64; convert with .as<std::int64_t>()", "error")));   \
  _Pragma("clang diagnostic pop")
#define LOCUS_REFUSE_THIRD_INDEX_TYPE(name, what, third, Third)                                                       \
  _Pragma("clang diagnostic push") _Pragma("clang diagnostic ignored \"-Wgcc-compat\"")                               \
  template <class L, class M, class R>                                                                                \
    requires locus::detail::IndexTypeDiffers<L, R>                                                                    \
  locus::error::refused name(const L&, const M&, const R&)                                                            \
      __attribute__((diagnose_if(true, what ": " third " not int64; convert with .as<std::int64_t>()", "error")));    \
  _Pragma("clang diagnostic pop")
#else
#define LOCUS_REFUSE_PLACES(name, what, first, second, First, Second, Options)                                        \
  template <class L, class R,                                                                                         \
            class why = locus::error::device_mismatch<locus::error::First<locus::device_of<L>>,                       \
                                                      locus::error::Second<locus::device_of<R>>,                      \
                                                      locus::error::move_one_with_to_Cpu_or_to_Cuda>>                 \
    requires locus::detail::PlacesDiffer<L, R>                                                                        \
  void name(const L&, const R&, const Options& = {}) = delete;                                                        \
  template <class L, class R, class Third, class... Rest,                                                             \
            class why = locus::error::device_mismatch<locus::error::First<locus::device_of<L>>,                       \
                                                      locus::error::Second<locus::device_of<R>>,                      \
                                                      locus::error::move_one_with_to_Cpu_or_to_Cuda>>                 \
    requires locus::detail::PlacesDiffer<L, R>                                                                        \
  void name(const L&, const R&, const Third&, const Rest&...) = delete;
#define LOCUS_REFUSE_THIRD(name, what, first, third, First, Third)                                                    \
  template <class L, class M, class R, class... Rest,                                                                 \
            class why = locus::error::device_mismatch<locus::error::First<locus::device_of<L>>,                       \
                                                      locus::error::Third<locus::device_of<R>>,                       \
                                                      locus::error::move_one_with_to_Cpu_or_to_Cuda>>                 \
    requires(!locus::detail::PlacesDiffer<L, M> && locus::detail::PlacesDiffer<L, R>)                                 \
  void name(const L&, const M&, const R&, const Rest&...) = delete;
#define LOCUS_REFUSE_PAIR(name, what)                                                                                 \
  template <class L, class R, class... Rest, class why = typename locus::detail::Mistake<L, R>::type>                 \
    requires locus::detail::RefusedInPlace<L, R>                                                                      \
  void name(const L&, const R&, const Rest&...) = delete;
#define LOCUS_REFUSE_INDEX_TYPE(name, what, second, Second, Options)                                                  \
  template <class L, class R,                                                                                         \
            class why = locus::error::dtype_mismatch<locus::error::Second<locus::value_of<R>>,                        \
                                                     locus::error::convert_with_as_std_int64_t>>                      \
    requires locus::detail::IndexTypeDiffers<L, R>                                                                    \
  void name(const L&, const R&, const Options& = {}) = delete;                                                        \
  template <class L, class R, class Third, class... Rest,                                                             \
            class why = locus::error::dtype_mismatch<locus::error::Second<locus::value_of<R>>,                        \
                                                     locus::error::convert_with_as_std_int64_t>>                      \
    requires locus::detail::IndexTypeDiffers<L, R>                                                                    \
  void name(const L&, const R&, const Third&, const Rest&...) = delete;
#define LOCUS_REFUSE_THIRD_INDEX_TYPE(name, what, third, Third)                                                       \
  template <class L, class M, class R,                                                                                \
            class why = locus::error::dtype_mismatch<locus::error::Third<locus::value_of<R>>,                         \
                                                     locus::error::convert_with_as_std_int64_t>>                      \
    requires locus::detail::IndexTypeDiffers<L, R>                                                                    \
  void name(const L&, const M&, const R&) = delete;
#endif
// clang-format on
