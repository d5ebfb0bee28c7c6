#pragma once
// How often numbers occur in a list: what a device may do beside its verbs. Optional: operations that need it ask for
// HistogramDevice.

#include <locus/cpu/backend.hpp>

namespace locus::inline LOCUS_ABI {

/// Counting on a device; specialize it to add it to one.
template <class D>
struct Histogram;

template <>
struct Histogram<Cpu> {
  /// counts[b] += how many of n numbers are b, for b from 0 to bin_count - 1. Others are left out.
  template <class Bin>
  static void count(Cpu, const Bin* bins, std::int64_t n, std::int64_t* counts, std::int64_t bin_count) {
    for (std::int64_t i = 0; i < n; ++i)
      if (bins[i] >= 0 && bins[i] < bin_count) ++counts[bins[i]];
  }
};

/// A device with this.
template <class D>
concept HistogramDevice = Device<D> && requires(D device, const std::int32_t* bins, std::int64_t* counts,
                                                std::int64_t n) { Histogram<D>::count(device, bins, n, counts, n); };
static_assert(HistogramDevice<Cpu>);

}  // namespace locus::inline LOCUS_ABI
