#pragma once
// The chain rule in registers: an adjoint times a derivative.

#include <locus/core/config.hpp>

#include <cstdint>
#include <type_traits>

namespace locus { inline namespace LOCUS_ABI { namespace detail {

/// Whether the derivative of F passes the adjoint to some arguments and exactly 0 to the others.
template <class F>
inline constexpr bool selects = requires { requires F::selects; };
/// Whether F may select arguments in this way, known only at run time.
template <class F>
inline constexpr bool may_select = requires { requires F::may_select; };

/// x, or exactly 0. The host uses a bit mask: g++ turns two selects in a row into branches, which keep loops from
/// vectorizing.
template <class R>
[[nodiscard]] LOCUS_FN R kept_if(bool keep, R x) {
#if !LOCUS_ON_DEVICE
  if constexpr (std::is_same_v<R, float> || std::is_same_v<R, double>) {
    using Bits = std::conditional_t<sizeof(R) == 4, std::uint32_t, std::uint64_t>;
    return __builtin_bit_cast(R, __builtin_bit_cast(Bits, x) & (Bits(0) - static_cast<Bits>(keep)));
  }
#endif
  return keep ? x : R(0);
}

/// x or y, on the host by bit masks, too.
template <class R>
[[nodiscard]] LOCUS_FN R either(bool first, R x, R y) {
#if !LOCUS_ON_DEVICE
  if constexpr (std::is_same_v<R, float> || std::is_same_v<R, double>) {
    using Bits = std::conditional_t<sizeof(R) == 4, std::uint32_t, std::uint64_t>;
    const Bits mask = Bits(0) - static_cast<Bits>(first);
    return __builtin_bit_cast(R, (__builtin_bit_cast(Bits, x) & mask) | (__builtin_bit_cast(Bits, y) & ~mask));
  }
#endif
  return first ? x : y;
}

/// adjoint * slope of F. An adjoint of exactly 0 (a branch that is not taken) contributes exactly 0, even times an
/// infinite or NaN slope. An argument that F does not select gets exactly 0 from any adjoint.
template <class F, class G, class S>
[[nodiscard]] LOCUS_FN G times_slope(G adjoint, S slope) {
  const auto product = static_cast<G>(adjoint * slope);
  if constexpr (selects<F>) return kept_if(slope != S(0), product);
  else if constexpr (may_select<F>) return kept_if((slope != S(0)) & (adjoint != G(0)), product);
  else return kept_if(adjoint != G(0), product);
}

}}}  // namespace locus::LOCUS_ABI::detail
