#pragma once
// Bounds of numbers: the smaller and the larger of two, and whether a type holds one. (<algorithm> and <limits> have
// them too. The one costs every program 0.1 s with g++, the other a thirtieth of the words that it reads.)

#include <locus/core/check.hpp>
#include <locus/core/dtype.hpp>

#include <cstdint>
#include <utility>

namespace locus { inline namespace LOCUS_ABI { namespace detail {

template <class X>
[[nodiscard]] LOCUS_FN constexpr X smaller(X a, X b) {
  return b < a ? b : a;
}
template <class X>
[[nodiscard]] LOCUS_FN constexpr X larger(X a, X b) {
  return a < b ? b : a;
}
/// The number in [low, high] that is nearest to x.
template <class X>
[[nodiscard]] constexpr X within(X x, X low, X high) {
  return x < low ? low : high < x ? high : x;
}

/// The product of two nonnegative numbers, saturated at the largest number.
[[nodiscard]] constexpr std::int64_t product_or_most(std::int64_t a, std::int64_t b) {
  std::int64_t product = 0;
  return __builtin_mul_overflow(a, b, &product) ? INT64_MAX : product;
}

/// The size of nearly equal parts of `all`, which is positive, each of at most `most`.
[[nodiscard]] constexpr std::int64_t equal_part(std::int64_t all, std::int64_t most) {
  return (all - 1) / ((all - 1) / most + 1) + 1;
}

/// The largest and the least value of an integer type, as in std::numeric_limits.
template <class T>
inline constexpr T largest_of =
    static_cast<T>(~std::uint64_t{0} >> (64 - 8 * static_cast<int>(sizeof(T)) + std::is_signed_v<T>));
template <class T>
inline constexpr T least_of = std::is_signed_v<T> ? static_cast<T>(-largest_of<T> - 1) : T(0);

/// An option converted to R, which is float, double or a dual of these. throws ArgumentError for NaN, infinity, and
/// numbers that R cannot hold
template <class R>
[[nodiscard]] R finite_as(std::string_view caller, const char* option, double given) {
  constexpr double most = std::is_same_v<primal_t<R>, float> ? __FLT_MAX__ : __DBL_MAX__;
  if (!(given >= -most && given <= most))
    fail<ArgumentError>({caller, ": ", option, " is ", given, "; expected a finite number of ",
                         dtype_name<primal_t<R>>(), ", up to ", most});
  return static_cast<R>(given);
}

/// Whether an integer is in the range of T, if T is an integer type: conversion would wrap around silently.
template <class T, class N>
[[nodiscard]] constexpr bool fits([[maybe_unused]] const N& number) {
  if constexpr (std::is_integral_v<T> && !std::is_same_v<T, bool> && std::is_integral_v<N> && !std::is_same_v<T, N>)
    return std::in_range<T>(+number);
  else return true;
}
/// throws ArgumentError naming the caller, the number, the numbers that fit, and the way out
template <class T, class N>
[[noreturn]] [[gnu::cold]] void refuse_to_fit(std::string_view caller, const N& number, std::string_view way_out) {
  fail<ArgumentError>({caller, ": ", number, " is no value of ", dtype_name<T>(), "; expected ", least_of<T>, " to ",
                       largest_of<T>, way_out});
}
/// The same for an integer that T, an integer type, cannot hold.
template <class T, class N>
constexpr void require_fits(std::string_view caller, [[maybe_unused]] const N& number, std::string_view way_out) {
  if constexpr (std::is_integral_v<T> && std::is_integral_v<N> && !std::is_same_v<T, N>)
    if (!fits<T>(number)) refuse_to_fit<T>(caller, number, way_out);
}

}}}  // namespace locus::LOCUS_ABI::detail
