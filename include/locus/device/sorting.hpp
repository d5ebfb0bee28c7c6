#pragma once
// What a device may do with whole lists beside its verbs. Optional: operations that need it ask for SortingDevice.

#include <locus/device/verbs.hpp>

namespace locus::inline LOCUS_ABI {

/// Sorting and selecting on a device; specialize it to add them to one. Equal on every device, bit for bit.
template <class D>
struct Sorting;

/// Most keys that a row may have: positions within rows have 32 bits.
inline constexpr std::int64_t most_sorted = INT32_MAX;

/// A device with these.
template <class D>
concept SortingDevice =
    Device<D> && requires(D device, std::uint32_t* keys, const bool* flags, std::int64_t* places, std::int64_t n) {
      Sorting<D>::order(device, keys, keys, n, n, 32, n);
      Sorting<D>::select(device, flags, n, places);
    };

}  // namespace locus::inline LOCUS_ABI
