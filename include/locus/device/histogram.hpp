#pragma once
// How often numbers occur in a list: what a device may do beside its verbs. Optional: operations that need it ask for
// HistogramDevice.

#include <locus/device/verbs.hpp>

namespace locus::inline LOCUS_ABI {

/// Counting on a device; specialize it to add it to one.
template <class D>
struct Histogram;

/// A device with this.
template <class D>
concept HistogramDevice = Device<D> && requires(D device, const std::int32_t* bins, std::int64_t* counts,
                                                std::int64_t n) { Histogram<D>::count(device, bins, n, counts, n); };

}  // namespace locus::inline LOCUS_ABI
