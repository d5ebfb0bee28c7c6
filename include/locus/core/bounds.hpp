#pragma once
// The smaller and the larger of two numbers. (<algorithm> has them too, and costs every program 0.1 s with g++.)

#include <locus/core/config.hpp>

#include <cstdint>

namespace locus::inline LOCUS_ABI::detail {

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

/// The product of two numbers that are not negative, or the largest number where it is larger.
[[nodiscard]] constexpr std::int64_t product_or_most(std::int64_t a, std::int64_t b) {
  std::int64_t product = 0;
  return __builtin_mul_overflow(a, b, &product) ? INT64_MAX : product;
}

}  // namespace locus::inline LOCUS_ABI::detail
