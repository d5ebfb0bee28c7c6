#pragma once
// How an adjoint meets a slope.

#include <locus/core/config.hpp>

namespace locus::inline LOCUS_ABI {

namespace detail {

/// Whether the derivative of F chooses which arguments get the adjoint, and gives exactly 0 to the others.
template <class F>
inline constexpr bool selects = requires { requires F::selects; };

/// adjoint * slope of F. An adjoint of exactly 0, as a branch that is not taken gets, contributes exactly 0, also by a
/// slope that is infinite or NaN; and so does any adjoint to what F leaves out.
template <class F, class G, class S>
[[nodiscard]] LOCUS_FN G times_slope(G adjoint, S slope) {
  const auto product = static_cast<G>(adjoint * slope);  // without branches, for loops over it to vectorize
  if constexpr (selects<F>) return (adjoint == G(0)) | (slope == S(0)) ? G(0) : product;
  else return adjoint == G(0) ? G(0) : product;
}

}  // namespace detail

}  // namespace locus::inline LOCUS_ABI
