#pragma once
// Folding what the lanes of vector registers hold.

#include <locus/core/config.hpp>

LOCUS_LOOPS_BEGIN
namespace locus::inline LOCUS_ABI::cpu {

/// Folds partial results that are `width` apart, then those half as far apart, down to `last`: with widths from half
/// the lanes to 1, partial[0] holds them all. Each step is a loop of known length, so that it vectorizes.
template <int width, int last, class Op, class A>
LOCUS_FN void fold_lanes(const Op& op, A* partial) {
  if constexpr (width >= last && width > 0) {
    LOCUS_IVDEP
    for (int lane = 0; lane < width; ++lane) partial[lane] = op.combine(partial[lane], partial[lane + width]);
    fold_lanes<width / 2, last>(op, partial);
  }
}

}  // namespace locus::inline LOCUS_ABI::cpu
LOCUS_LOOPS_END
