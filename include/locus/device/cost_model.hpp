#pragma once
// Which of two ways an operation takes on a device, where both are right.

#include <locus/device/place_queries.hpp>

namespace locus { inline namespace LOCUS_ABI {

/// By default, what is fast on the host where the host can reach the memory. Specialize it for a device of your own, in
/// particular for one whose memory the host shares and whose verbs only queue work: for it, all of these are false.
template <class D>
struct CostModel {
  /// Softmax and its like along an axis across memory: folds and maps over whole vectors that lie side by side, in
  /// place of a team for each row.
  static constexpr bool folds_across_memory = HostAccessible<D>;
  /// Elements picked by indices: loops on the host that follow the indices, in place of launches over all elements.
  static constexpr bool follows_indices = HostAccessible<D>;
  /// Indices and labels: the host reads them before the launch and throws for one out of range, in place of NaN as the
  /// result.
  static constexpr bool checks_indices = HostAccessible<D>;
  /// Norms and variances: sums of squares at once, and again by a slower, safe fold if the host then finds that squares
  /// overflowed or vanished, in place of the safe fold always.
  static constexpr bool folds_again = HostAccessible<D>;
  /// A scalar that decides what the next launch does: the host reads it, in place of every element of the launch.
  static constexpr bool reads_scalars = HostAccessible<D>;
};

}}  // namespace locus::LOCUS_ABI
