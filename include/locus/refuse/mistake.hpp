#pragma once
// Types that describe the mistakes of a call.
//
// refuse/ holds all refusals: overloads that exist to reject a mistaken call with a clear message. Most files are
// written by tests/tools/refusals.py from the tables in refusals/. operands.inc and if.inc declare the overloads; the
// other files here do so for functions of one kind. Subfolders mirror the headers: ops/join.hpp includes its refusals
// from refuse/ops/join.inc. *_mistakes.inc hold the types that describe mistakes, *_class.inc the refusals within a
// class.

#include <locus/refuse/vocabulary.hpp>

#include <cstdint>

namespace locus { inline namespace LOCUS_ABI { namespace detail {

/// The kind of mistake in a call; operands_in_clang.inc has clang's messages.
enum class Wrong {
  nothing,
  places,
  memory,
  parameters,
  types,
  integers,
  complex_numbers,
  exchanged,
  indices,
  condition,
  recorded,
  untraced,
  in_flight,
  no_forward,
  no_such_forward,
  list_as_tensor,
  hidden_members,
  no_members,
  no_twin,
  tensor_as_member,
  other_member,
  half_unscaled,
  scaler_alone
};

/// Has no `why`, so that refusing constructors drop out by SFINAE. Refusing functions drop out by `requires(refuses)`
/// and name why_or_void: g++ would report a missing `why` as an error when it lists candidates. (`refuses` is a bool:
/// comparing values of Wrong would look up operator !=, whose refusal is being checked.)
struct NoMistake {
  static constexpr Wrong wrong = Wrong::nothing;
  static constexpr bool refuses = false;
  using why_or_void = void;
};
/// g++ and nvcc print `Why`. Left and Right are the conflicting places or element types.
template <Wrong kind, class Why, class Left = void, class Right = void>
struct MistakeOf {
  static constexpr Wrong wrong = kind;
  static constexpr bool refuses = true;
  using why = Why;
  using why_or_void = Why;
  using left = Left;
  using right = Right;
};

struct NoTypes;  ///< stands for omitted template arguments of a layer

/// Converts from an argument of any type: see refuse/usage.inc.
template <class Why = void>
struct Given {
  template <class X>
  Given(const X&)
#if LOCUS_NVCC
      = delete
#endif
      ;
};

/// Conflicting element types.
template <class L, class R>
struct TypeMistake
    : MistakeOf<Wrong::types,
                error::dtype_mismatch<error::left_holds<L>, error::right_holds<R>, error::convert_one_with_as_T>, L,
                R> {};

/// The first of M... that is a mistake, or none.
template <class... M>
struct FirstMistake : NoMistake {};
template <class M, class... Rest>
struct FirstMistake<M, Rest...> : std::conditional_t<M::wrong != Wrong::nothing, std::type_identity<M>,
                                                     std::type_identity<FirstMistake<Rest...>>>::type {};

/// The second of two mistakes if there is no first: never both, so that a single refusal answers.
template <class First, class Second>
struct OnlyThen : std::conditional_t<First::wrong == Wrong::nothing, Second, NoMistake> {};

/// The first of several types that has a place, or void.
template <class... X>
struct FirstWithPlace {
  using type = void;
};
template <class X, class... Rest>
struct FirstWithPlace<X, Rest...> : FirstWithPlace<Rest...> {};
template <HasPlace X, class... Rest>
struct FirstWithPlace<X, Rest...> {
  using type = std::remove_cvref_t<X>;
};
template <class... X>
using first_with_place_t = typename FirstWithPlace<X...>::type;

template <class M, Wrong kind>
concept IsWrong = M::wrong == kind;
template <class M, class Left, class Right>
concept WrongPlaces =
    M::wrong == Wrong::places && std::is_same_v<typename M::left, Left> && std::is_same_v<typename M::right, Right>;
template <class M, class Left, class Right>
concept WrongTypes =
    M::wrong == Wrong::types && std::is_same_v<typename M::left, Left> && std::is_same_v<typename M::right, Right>;
template <class... X>
inline constexpr bool is_shipped =
    ((std::is_same_v<X, Cpu> || std::is_same_v<X, Cuda> || std::is_same_v<X, Pinned>)&&...);
template <class M>
concept WrongTypesUnnamed =
    M::wrong == Wrong::types && !((WrongTypes<M, float, double> || WrongTypes<M, double, float>) ||
                                  (WrongTypes<M, float, std::int64_t> || WrongTypes<M, std::int64_t, float>));
template <class M>
concept WrongPlacesElsewhere = M::wrong == Wrong::places && !WrongPlaces<M, Cpu, Cuda> && !WrongPlaces<M, Cuda, Cpu>;
template <class M>
concept WrongPlacesOfYours = M::wrong == Wrong::places && !is_shipped<typename M::left, typename M::right>;

}}}  // namespace locus::LOCUS_ABI::detail

// clang does not print why a function was deleted, but prints the text of diagnose_if, or of LOCUS_UNAVAILABLE("...")
// for constructors; the message of the latter begins with their name. diagnose_if is spelled out at each use, because
// clang adds three lines to an error for a macro.
#if defined(__clang__) && !LOCUS_NVCC
#define LOCUS_CLANG_REFUSES 1
#define LOCUS_UNAVAILABLE(text) __attribute__((unavailable(text)))
#define LOCUS_REFUSALS_BEGIN _Pragma("clang diagnostic push") _Pragma("clang diagnostic ignored \"-Wgcc-compat\"")
#define LOCUS_REFUSALS_END _Pragma("clang diagnostic pop")
#else
#define LOCUS_CLANG_REFUSES 0
#define LOCUS_REFUSALS_BEGIN
#define LOCUS_REFUSALS_END
#endif

// Whether if.inc and usage.inc delete functions with a sentence, which compilers of C++26 print. clang lists all other
// overloads below such an error, but not below that of diagnose_if, which it keeps unless LOCUS_DELETED_SENTENCES is
// defined.
#if defined(__cpp_deleted_function) && !LOCUS_NVCC && (!LOCUS_CLANG_REFUSES || defined(LOCUS_DELETED_SENTENCES))
#define LOCUS_DELETES_WITH_SENTENCES 1
#else
#define LOCUS_DELETES_WITH_SENTENCES 0
#endif

// The result of a refused call, unless nvcc needs another: `requires` detects clang's, because it is never defined.
#if LOCUS_CLANG_REFUSES && !LOCUS_DELETES_WITH_SENTENCES
#define LOCUS_NO_RESULT locus::error::refused
#else
#define LOCUS_NO_RESULT void
#endif
