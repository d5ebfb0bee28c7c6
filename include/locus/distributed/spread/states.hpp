#pragma once
// Lists of states, as types, and the states of results. No code of a program comes from here.

#include <locus/autograd/parameter.hpp>
#include <locus/distributed/spread/judge.hpp>
#include <locus/distributed/spread/mistakes.hpp>

namespace locus { inline namespace LOCUS_ABI {

template <class X, class... S>
class Over;
template <class R, class D>
struct RunningStatistics;

namespace dist::detail {

/// What a recorded call updates in place.
template <class X>
inline constexpr bool is_updated = false;
template <class R, class D>
inline constexpr bool is_updated<RunningStatistics<R, D>> = true;

template <class X>
inline constexpr bool is_over = false;
template <class X, class... S>
inline constexpr bool is_over<Over<X, S...>> = true;
template <class X>
concept IsOver = is_over<locus::detail::bare_t<X>>;

/// The states of an Over. Their order says nothing; along axes that it does not name, a value is Invariant.
template <class... S>
struct States {};
template <class X>
struct StatesOf : std::type_identity<States<>> {};
template <class X, class... S>
struct StatesOf<Over<X, S...>> : std::type_identity<States<S...>> {};
template <class X>
using states_of = typename StatesOf<locus::detail::bare_t<X>>::type;

template <class A, class... S>
[[nodiscard]] consteval Spread along(States<S...>) {
  Spread result = Spread::invariant;
  ((std::is_same_v<A, typename S::axis> ? void(result = S::spread) : void()), ...);
  return result;
}
/// How X is spread along the axis A.
template <class A, class X>
inline constexpr Spread along_of = along<A>(states_of<X>());

template <class A, Spread s>
struct StateOf;
template <class A>
struct StateOf<A, Spread::invariant> : std::type_identity<Invariant<A>> {};
template <class A>
struct StateOf<A, Spread::replicated> : std::type_identity<Replicated<A>> {};
template <class A>
struct StateOf<A, Spread::varying> : std::type_identity<Varying<A>> {};
template <class A>
struct StateOf<A, Spread::partial> : std::type_identity<Partial<A>> {};

/// States with another one along an axis.
template <class L, class S, class Done = States<>>
struct With;
template <class S, class... D>
struct With<States<>, S, States<D...>>
    : std::conditional<S::spread == Spread::invariant, States<D...>, States<D..., S>> {};
template <class F, class... R, class S, class... D>
struct With<States<F, R...>, S, States<D...>> : With<States<R...>, S, States<D..., F>> {};
template <class F, class... R, class S, class... D>
  requires std::is_same_v<typename F::axis, typename S::axis>
struct With<States<F, R...>, S, States<D...>>
    : std::conditional<S::spread == Spread::invariant, States<D..., R...>, States<D..., S, R...>> {};
template <class L, class A, Spread s>
using with_t = typename With<L, typename StateOf<A, s>::type>::type;

/// States that name each axis of several lists once; only the axes count.
template <class... L>
struct AxesOf : std::type_identity<States<>> {};
template <class L>
struct AxesOf<L> : std::type_identity<L> {};
template <class L, class... R>
struct AxesOf<L, States<>, R...> : AxesOf<L, R...> {};
template <class L, class F, class... S, class... R>
struct AxesOf<L, States<F, S...>, R...>
    : AxesOf<typename With<L, Varying<typename F::axis>>::type, States<S...>, R...> {};

/// Whether two lists say the same.
template <class... S, class... R>
[[nodiscard]] consteval bool say_the_same(States<S...>, States<R...>) {
  return sizeof...(S) == sizeof...(R) && ((along<typename S::axis>(States<R...>()) == S::spread) && ...);
}
/// The states of a gradient.
template <class L>
struct DualOf;
template <class... S>
struct DualOf<States<S...>> : std::type_identity<States<typename StateOf<typename S::axis, dual(S::spread)>::type...>> {
};
template <class L>
using dual_t = typename DualOf<L>::type;
/// The first axis along which X is spread so; void: none.
template <Spread s, class L>
struct FirstAxis : std::type_identity<void> {};
template <Spread s, class F, class... R>
struct FirstAxis<s, States<F, R...>>
    : std::conditional_t<F::spread == s, std::type_identity<typename F::axis>, FirstAxis<s, States<R...>>> {};
template <Spread s, class X>
using first_axis = typename FirstAxis<s, states_of<X>>::type;
template <class X, Spread s>
concept Somewhere = !std::is_void_v<first_axis<s, X>>;
/// Whether X is the same on all ranks: its elements may be read as the program's.
template <class X>
concept Readable = !Somewhere<X, Spread::varying> && !Somewhere<X, Spread::partial>;
/// Whether X is spread so along the axis A.
template <class X, class A, Spread s>
concept SpreadAs = IsOver<X> && along_of<A, X> == s;

/// R, spread as a list of states says.
template <class R, class L>
struct LabelledOf;
template <class R, class... S>
struct LabelledOf<R, States<S...>> : std::type_identity<Over<R, S...>> {};
template <class R, class L>
using labelled_t = typename LabelledOf<R, L>::type;

/// What each rank has: the first argument of an Over, or X itself.
template <class X>
struct LocalOf : std::type_identity<X> {};
template <class X, class... S>
struct LocalOf<Over<X, S...>> : std::type_identity<X> {};
template <class X>
using local_t = typename LocalOf<locus::detail::bare_t<X>>::type;
template <class X>
[[nodiscard]] consteval bool has_role(Role role) {
  if constexpr (TensorLike<local_t<X>>) return local_t<X>::role == role;
  else return false;
}

template <class A, Linearity kind, class... X>
[[nodiscard]] consteval Verdict judge_along() {
  const bool is_traced = (has_role<X>(Role::traced) || ...);
  const Operand operands[] = {{TensorLike<local_t<X>> || is_updated<local_t<X>> || IsOver<X>, IsOver<X>,
                               has_role<X>(Role::traced) || (is_traced && has_role<X>(Role::parameter)),
                               std::is_arithmetic_v<locus::detail::bare_t<X>>, along_of<A, X>,
                               is_traced && is_updated<local_t<X>>}...};
  return judge(kind, operands, static_cast<int>(sizeof...(X)));
}

/// The states of a call's result, and the mistake of its operands.
template <Linearity kind, class Axes, class... X>
struct JoinOf;
template <Linearity kind, class... X>
struct JoinOf<kind, States<>, X...>
    : std::type_identity<States<>>,
      FirstUnsound<LibraryMistake<kind, local_t<X>...>, UnsoundAlong<void, judge_along<void, kind, X...>().unsound>> {};
template <Linearity kind, class F, class... S, class... X>
struct JoinOf<kind, States<F, S...>, X...>
    : FirstUnsound<LibraryMistake<kind, local_t<X>...>, MeshMistake<F, S>...,
                   UnsoundAlong<typename F::axis, judge_along<typename F::axis, kind, X...>().unsound>,
                   UnsoundAlong<typename S::axis, judge_along<typename S::axis, kind, X...>().unsound>...> {
  template <class L, class... T>
  struct All : std::type_identity<L> {};
  template <class L, class T, class... R>
  struct All<L, T, R...> : All<with_t<L, typename T::axis, judge_along<typename T::axis, kind, X...>().spread>, R...> {
  };
  using type = typename All<States<>, F, S...>::type;
};
template <Linearity kind, class... X>
using join_t = JoinOf<kind, typename AxesOf<States<>, states_of<X>...>::type, X...>;

/// The mistake of a call, if an operand is an Over: other calls instantiate nothing.
template <Linearity kind, class... X>
struct MistakeOfCall : NothingUnsound {};
template <Linearity kind, class... X>
  requires(IsOver<X> || ...)
struct MistakeOfCall<kind, X...> : join_t<kind, X...> {};

template <Linearity kind, class... X>
concept Sound = (IsOver<X> || ...) && !join_t<kind, X...>::refuses;
template <Linearity kind, class... X>
concept IsUnsound = (IsOver<X> || ...) && join_t<kind, X...>::refuses;
/// Whether f(target, y) may be written to the target; UpdatesOtherwise: not, though it is sound.
template <Linearity kind, class X, class Y>
concept Updates = Sound<kind, X, Y> && say_the_same(states_of<X>(), typename join_t<kind, X, Y>::type());
template <Linearity kind, class X, class Y>
concept UpdatesOtherwise = Sound<kind, X, Y> && !Updates<kind, X, Y>;
template <Unsound reason, Linearity kind, class... X>
concept UnsoundBy = join_t<kind, X...>::unsound == reason;

}  // namespace dist::detail
}}  // namespace locus::LOCUS_ABI
