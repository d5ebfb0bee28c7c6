#pragma once
// The members of an aggregate, without their names.

#include <locus/core/config.hpp>

#include <cstddef>
#include <type_traits>
#include <utility>

namespace locus { inline namespace LOCUS_ABI { namespace detail {

/// Initializes a member of any type; only named, never called.
struct AnyField {
  template <class T>
  operator T() const;
};
/// Initializes a union, and nothing else.
struct AnyUnion {
  template <class T>
    requires std::is_union_v<T>
  operator T() const;
};
/// Initializes a base class of X, and nothing else.
template <class X>
struct AnyBaseOf {
  template <class T>
    requires(std::is_base_of_v<T, X> && !std::is_same_v<T, X>)
  operator T() const;
};

template <class X, std::size_t... I>
consteval bool takes_fields(std::index_sequence<I...>) {
  return requires { X{((void)I, AnyField{})...}; };
}
/// The most initializers of an aggregate; 0 above `most`. An array takes one for each element.
template <class X, std::size_t most>
consteval std::size_t count_initializers() {
  if constexpr (takes_fields<X>(std::make_index_sequence<most + 1>{})) return 0;
  else if constexpr (takes_fields<X>(std::make_index_sequence<most>{})) return most;
  else if constexpr (most > 1) return count_initializers<X, most - 1>();
  else return 0;
}
template <class X, std::size_t... I>
consteval bool has_base(std::index_sequence<I...>) {
  return requires { X{AnyBaseOf<X>{}, ((void)I, AnyField{})...}; };
}
template <class X, std::size_t... before>
consteval bool has_union(std::index_sequence<before...>) {
  return requires { X{((void)before, AnyField{})..., AnyUnion{}}; };
}
/// Whether a member that `before` initializers precede takes {}, and `after` initializers can follow.
template <class X, std::size_t... before, std::size_t... after>
consteval bool takes_braces(std::index_sequence<before...>, std::index_sequence<after...>) {
  return requires { X{((void)before, AnyField{})..., {}, ((void)after, AnyField{})...}; };
}
/// The members that `all` initializers reach, from the one that `before` initializers precede: an array is one. Above
/// `all` if that cannot be told, or for a union, since structured bindings name no member of an anonymous one.
template <class X, std::size_t all, std::size_t before = 0, std::size_t size = 1>
consteval std::size_t count_members() {
  if constexpr (before == all) return 0;
  else if constexpr (before + size > all || has_union<X>(std::make_index_sequence<before>{})) return all + 1;
  else if constexpr (takes_braces<X>(std::make_index_sequence<before>{},
                                     std::make_index_sequence<all - before - size>{}))
    return 1 + count_members<X, all, before + size>();
  else return count_members<X, all, before, size + 1>();
}

/// The number of members of a class that structured bindings name, up to `most` with the elements of arrays. 0 for
/// other types, and for classes with a base, a reference, a union, or a member that {} does not initialize.
template <class X, std::size_t most>
consteval std::size_t count_fields() {
  if constexpr (!std::is_class_v<X> || !std::is_aggregate_v<X>) return 0;
  else {
    constexpr std::size_t all = count_initializers<X, most>();
    if constexpr (all == 0) return 0;
    else if constexpr (has_base<X>(std::make_index_sequence<all - 1>{})) return 0;
    else {
      constexpr std::size_t members = count_members<X, all>();
      return members <= all ? members : 0;
    }
  }
}

/// f(members...) of a class of `count` members, at most 16; or of a tuple.
template <std::size_t count, class X, class Use>
decltype(auto) with_fields(const X& x, const Use& f) {
  static_assert(count >= 1 && count <= 16);
  // clang-format off
  if constexpr (count == 1) { const auto& [a] = x; return f(a); }
  else if constexpr (count == 2) { const auto& [a, b] = x; return f(a, b); }
  else if constexpr (count == 3) { const auto& [a, b, c] = x; return f(a, b, c); }
  else if constexpr (count == 4) { const auto& [a, b, c, d] = x; return f(a, b, c, d); }
  else if constexpr (count == 5) { const auto& [a, b, c, d, e] = x; return f(a, b, c, d, e); }
  else if constexpr (count == 6) { const auto& [a, b, c, d, e, g] = x; return f(a, b, c, d, e, g); }
  else if constexpr (count == 7) { const auto& [a, b, c, d, e, g, h] = x; return f(a, b, c, d, e, g, h); }
  else if constexpr (count == 8) { const auto& [a, b, c, d, e, g, h, i] = x; return f(a, b, c, d, e, g, h, i); }
  else if constexpr (count == 9) { const auto& [a, b, c, d, e, g, h, i, j] = x; return f(a, b, c, d, e, g, h, i, j); }
  else if constexpr (count == 10) { const auto& [a, b, c, d, e, g, h, i, j, k] = x; return f(a, b, c, d, e, g, h, i, j, k); }
  else if constexpr (count == 11) { const auto& [a, b, c, d, e, g, h, i, j, k, l] = x; return f(a, b, c, d, e, g, h, i, j, k, l); }
  else if constexpr (count == 12) { const auto& [a, b, c, d, e, g, h, i, j, k, l, m] = x; return f(a, b, c, d, e, g, h, i, j, k, l, m); }
  else if constexpr (count == 13) { const auto& [a, b, c, d, e, g, h, i, j, k, l, m, n] = x; return f(a, b, c, d, e, g, h, i, j, k, l, m, n); }
  else if constexpr (count == 14) { const auto& [a, b, c, d, e, g, h, i, j, k, l, m, n, o] = x; return f(a, b, c, d, e, g, h, i, j, k, l, m, n, o); }
  else if constexpr (count == 15) { const auto& [a, b, c, d, e, g, h, i, j, k, l, m, n, o, p] = x; return f(a, b, c, d, e, g, h, i, j, k, l, m, n, o, p); }
  else { const auto& [a, b, c, d, e, g, h, i, j, k, l, m, n, o, p, q] = x; return f(a, b, c, d, e, g, h, i, j, k, l, m, n, o, p, q); }
  // clang-format on
}

}}}  // namespace locus::LOCUS_ABI::detail
