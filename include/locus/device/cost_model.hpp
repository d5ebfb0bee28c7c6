#pragma once
// Chooses between two correct algorithms of an operation on a device.

#include <locus/device/place_queries.hpp>

namespace locus { inline namespace LOCUS_ABI {

/// By default, true where the host can access the memory. Specialize it for your own device, in particular if the host
/// shares its memory but its verbs only queue work: then all of these should be false.
template <class D>
struct CostModel {
  /// Softmax and similar operations along a strided axis: folds and maps over whole contiguous vectors instead of a
  /// team for each row.
  static constexpr bool folds_across_memory = HostAccessible<D>;
  /// Gathers and scatters by indices: host loops over the indices instead of launches over all elements.
  static constexpr bool follows_indices = HostAccessible<D>;
  /// Indices and labels: the host reads them before the launch and throws if one is out of range. If false, nothing is
  /// thrown, and an index out of range gives NaN.
  static constexpr bool checks_indices = HostAccessible<D>;
  /// Norms and variances: plain sums of squares first, repeated by a slower, safe fold if the host finds that squares
  /// overflowed or underflowed. If false, always the safe fold.
  static constexpr bool folds_again = HostAccessible<D>;
  /// A scalar that controls the next launch: the host reads it once. If false, every element of the launch reads
  /// it.
  static constexpr bool reads_scalars = HostAccessible<D>;
};

}}  // namespace locus::LOCUS_ABI
