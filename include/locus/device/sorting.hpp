#pragma once
// What a device may do with whole lists beside its verbs. Optional: operations that need it ask for SortingDevice.

#include <locus/cpu/backend.hpp>
#include <locus/cpu/sorting.hpp>

namespace locus::inline LOCUS_ABI {

/// Sorting and selecting on a device; specialize it to add them to one. Equal on every device, bit for bit.
template <class D>
struct Sorting;

/// Most keys that a row may have: positions within rows have 32 bits.
inline constexpr std::int64_t most_sorted = INT32_MAX;

template <>
struct Sorting<Cpu> {
  /// Sorts every row of a dense (rows, cols) matrix of unsigned keys below 2^bits. `positions` holds 0, 1, 2, ... (of
  /// all rows together, modulo 2^32) and is moved with the keys: afterwards the first `first` positions of a row are
  /// those of its smallest keys, in order, equal ones in the order in which they were. The others, and the keys, are
  /// left in any order. first: 1 to cols, which is at most most_sorted
  template <class Key>
  static void order(Cpu, Key* keys, std::uint32_t* positions, std::int64_t rows, std::int64_t cols, int bits,
                    std::int64_t first) {
    cpu::order(keys, positions, rows, cols, bits, first);
  }

  /// Writes the positions of all flags that are set, of which there are as many as there is room for.
  template <class Flag>
  static void select(Cpu, const Flag* flags, std::int64_t n, std::int64_t* positions) {
    cpu::select(flags, n, positions);
  }
};

/// A device with these.
template <class D>
concept SortingDevice =
    Device<D> && requires(D device, std::uint32_t* keys, const bool* flags, std::int64_t* places, std::int64_t n) {
      Sorting<D>::order(device, keys, keys, n, n, 32, n);
      Sorting<D>::select(device, flags, n, places);
    };
static_assert(SortingDevice<Cpu>);

}  // namespace locus::inline LOCUS_ABI
