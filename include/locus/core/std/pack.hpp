#pragma once
// Tuples: Pack, trivially copyable, which may enter a kernel, and Tuple, which may own things on the host. Both are
// flat. (std::tuple, a class per suffix, costs a compiler several times as many functions.)

#include <locus/core/config.hpp>

#include <cstddef>
#include <utility>

namespace locus { inline namespace LOCUS_ABI {

namespace detail {
template <int I, class T>
struct PackItem {
  T value;
};
template <class Indices, class... T>
struct PackItems;
template <int... I, class... T>
struct PackItems<std::integer_sequence<int, I...>, T...> : PackItem<I, T>... {
  PackItems() = default;
  LOCUS_FN constexpr explicit PackItems(int, const T&... values) : PackItem<I, T>{values}... {}
};
}  // namespace detail

/// Values of several types, by position: get<0>(pack).
template <class... T>
struct Pack : detail::PackItems<std::make_integer_sequence<int, static_cast<int>(sizeof...(T))>, T...> {
  static constexpr int size = sizeof...(T);
  Pack() = default;
  LOCUS_FN constexpr Pack(const T&... values)
    requires(sizeof...(T) > 0)
      : detail::PackItems<std::make_integer_sequence<int, static_cast<int>(sizeof...(T))>, T...>(0, values...) {}
};
template <class... T>
Pack(T...) -> Pack<T...>;

template <int I, class T>
[[nodiscard]] LOCUS_FN constexpr T& get(detail::PackItem<I, T>& item) {
  return item.value;
}
template <int I, class T>
[[nodiscard]] LOCUS_FN constexpr const T& get(const detail::PackItem<I, T>& item) {
  return item.value;
}
template <int I, class T>
[[nodiscard]] LOCUS_FN constexpr T&& get(detail::PackItem<I, T>&& item) {
  return static_cast<T&&>(item.value);
}

namespace detail {
/// Tag: each item of a tuple is constructed in place from one argument.
struct FromEach {
  explicit FromEach() = default;
};

template <class Indices, class... T>
struct TupleItems;
template <int... I, class... T>
struct TupleItems<std::integer_sequence<int, I...>, T...> : PackItem<I, T>... {
  TupleItems() = default;
  template <class... U>
    requires(sizeof...(U) == sizeof...(T))
  constexpr explicit TupleItems(FromEach, U&&... sources)
      : PackItem<I, T>{static_cast<T>(static_cast<U&&>(sources))}... {}
};
template <class... T>
using tuple_items_t = TupleItems<std::make_integer_sequence<int, static_cast<int>(sizeof...(T))>, T...>;
}  // namespace detail

/// Host objects of several types, by position: get<0>(tuple), or auto [a, b] = tuple.
template <class... T>
struct Tuple : detail::tuple_items_t<T...> {
  static constexpr int size = sizeof...(T);
  Tuple() = default;
  constexpr Tuple(T... values)
    requires(sizeof...(T) > 0)
      : detail::tuple_items_t<T...>(detail::FromEach(), static_cast<T&&>(values)...) {}
  template <class... U>
    requires(sizeof...(U) == sizeof...(T))
  constexpr explicit Tuple(detail::FromEach each, U&&... sources)
      : detail::tuple_items_t<T...>(each, static_cast<U&&>(sources)...) {}
};

namespace detail {
/// f(items of the tuple...)
template <class F, class... T>
decltype(auto) unpack(const Tuple<T...>& tuple, const F& f) {
  return [&]<int... I>(std::integer_sequence<int, I...>) -> decltype(auto) {
    return f(get<I>(tuple)...);
  }(std::make_integer_sequence<int, static_cast<int>(sizeof...(T))>{});
}

/// Concatenates tuples. Two tuples: each item is moved once. One tuple: no item is moved.
template <class... T>
Tuple<T...>&& join_tuples(Tuple<T...>&& only) {
  return static_cast<Tuple<T...>&&>(only);
}
template <class... A, class... B>
auto join_tuples(Tuple<A...>&& a, Tuple<B...>&& b) {
  return [&]<int... I, int... J>(std::integer_sequence<int, I...>, std::integer_sequence<int, J...>) {
    return Tuple<A..., B...>(FromEach(), static_cast<A&&>(get<I>(a))..., static_cast<B&&>(get<J>(b))...);
  }(std::make_integer_sequence<int, static_cast<int>(sizeof...(A))>{},
         std::make_integer_sequence<int, static_cast<int>(sizeof...(B))>{});
}
template <class... A, class... B, class... Rest>
auto join_tuples(Tuple<A...>&& a, Tuple<B...>&& b, Rest&&... rest) {
  return join_tuples(join_tuples(static_cast<Tuple<A...>&&>(a), static_cast<Tuple<B...>&&>(b)),
                     static_cast<Rest&&>(rest)...);
}

}  // namespace detail

/// Calls f.template operator()<0>() ... <N - 1>().
template <int N, class F>
constexpr void static_for(F&& f) {
  [&]<int... I>(std::integer_sequence<int, I...>) {
    (f.template operator()<I>(), ...);
  }(std::make_integer_sequence<int, N>{});
}

}}  // namespace locus::LOCUS_ABI

template <class... T>
struct std::tuple_size<locus::Tuple<T...>> : std::integral_constant<std::size_t, sizeof...(T)> {};
template <std::size_t I, class... T>
struct std::tuple_element<I, locus::Tuple<T...>> {
  using type = std::remove_cvref_t<decltype(locus::get<static_cast<int>(I)>(std::declval<locus::Tuple<T...>&>()))>;
};
