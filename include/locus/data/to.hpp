#pragma once
// Batches and other structures of tensors on another device.

#include <locus/data/batch_tensors.hpp>
#include <locus/tensor/copy.hpp>

#include <array>
#include <vector>

namespace locus { inline namespace LOCUS_ABI { namespace data {

namespace detail {

/// The type of a structure of tensors on another device; no member `type` for other types.
template <class X, class E>
struct MovedTo {};
template <class X, class E>
concept MovesTo = requires { typename MovedTo<X, E>::type; };
template <class X, class E>
using moved_t = typename MovedTo<X, E>::type;

/// A tensor, a pending expression or a state dictionary.
template <class X, class E>
concept MovesItself = requires(const X& x, E place) { x.template to<E>(place); };
template <class X, class E>
  requires MovesItself<X, E>
struct MovedTo<X, E> {
  using type = std::remove_cvref_t<decltype(std::declval<const X&>().template to<E>(E{}))>;
};
template <class X, class E>
  requires MovesTo<X, E>
struct MovedTo<std::vector<X>, E> {
  using type = std::vector<moved_t<X, E>>;
};
template <class X, std::size_t size, class E>
  requires MovesTo<X, E>
struct MovedTo<std::array<X, size>, E> {
  using type = std::array<moved_t<X, E>, size>;
};
template <class From, class To, class E>
inline constexpr bool moves_each = false;
template <class... From, class... To, class E>
  requires(sizeof...(From) == sizeof...(To) && (MovesTo<From, E> && ...))
inline constexpr bool moves_each<Tuple<From...>, Tuple<To...>, E> = (std::is_same_v<moved_t<From, E>, To> && ...);
/// Whether To is initialized by the moved elements of From, one by one.
template <class From, class To, class E>
concept MovesInto = Decomposes<From> && Decomposes<To> && moves_each<element_types_t<From>, element_types_t<To>, E>;

/// Tuple, std::pair, std::tuple.
template <template <class...> class C, class... X, class E>
  requires(!MovesItself<C<X...>, E> && sizeof...(X) > 0 && (MovesTo<X, E> && ...) &&
           MovesInto<C<X...>, C<moved_t<X, E>...>, E>)
struct MovedTo<C<X...>, E> {
  using type = C<moved_t<X, E>...>;
};

template <class X, class E>
using place_or_t = std::conditional_t<MemorySpace<X>, E, X>;
/// An aggregate like Batch<T, D>, whose template parameters name the place.
template <template <class...> class C, class... A, class E>
  requires(MemorySpace<E> && !MovesItself<C<A...>, E> && (MemorySpace<A> || ...) &&
           MovesInto<C<A...>, C<place_or_t<A, E>...>, E>)
struct MovedTo<C<A...>, E> {
  using type = C<place_or_t<A, E>...>;
};

template <class E, class X>
[[nodiscard]] moved_t<X, E> moved(const X& x, E place);
template <class E, class X>
[[nodiscard]] std::vector<moved_t<X, E>> moved(const std::vector<X>& list, E place) {
  std::vector<moved_t<X, E>> result;
  result.reserve(list.size());
  for (const X& x : list) result.push_back(detail::moved(x, place));
  return result;
}
template <class E, class X, std::size_t size>
[[nodiscard]] std::array<moved_t<X, E>, size> moved(const std::array<X, size>& list, E place) {
  return [&]<std::size_t... I>(std::index_sequence<I...>) {
    return std::array<moved_t<X, E>, size>{detail::moved(list[I], place)...};
  }(std::make_index_sequence<size>{});
}
template <class E, class X>
moved_t<X, E> moved(const X& x, E place) {
  if constexpr (MovesItself<X, E>) return x.template to<E>(place);
  else
    return locus::detail::with_fields<elements_of_type<X>()>(
        x, [&](const auto&... each) { return moved_t<X, E>{detail::moved(each, place)...}; });
}

}  // namespace detail

/// The same structure on another device: a batch, named or a Tuple; a tensor; a state dictionary; std::pair,
/// std::tuple, std::vector and std::array of these. Tensors that are there already share their memory. Copies wait as
/// x.to<E>() does; data::loader<Cuda> copies its batches in the background. Element types stay. Integers, strings,
/// std::optional, pointers and other members are refused. An aggregate of your own is a template with the device as a
/// parameter: template <class D> struct Pair { Tensor<float, D> x, y; }. Aggregates and tuples have at most eight
/// members, none of them an array of C. cost: one copy for each tensor that is elsewhere
///
///     for (const auto& batch : data::loader<Cpu>(digits)) {
///       auto [images, labels] = data::to<Cuda>(batch);   // or data::to(batch, Cuda{1})
template <MemorySpace E, class X>
  requires detail::MovesTo<X, E>
[[nodiscard]] detail::moved_t<X, E> to(const X& batch, E place = {}) {
  return detail::moved<E>(batch, place);
}

#include <locus/refuse/data/to.inc>

}}}  // namespace locus::LOCUS_ABI::data
