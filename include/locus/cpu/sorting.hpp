#pragma once
// Sorting and selecting on the host.

#include <locus/cpu/backend.hpp>
#include <locus/cpu/loops/map.hpp>
#include <locus/cpu/threads/scratch.hpp>
#include <locus/device/capabilities.hpp>

namespace locus { inline namespace LOCUS_ABI { namespace cpu {

namespace detail {

/// Rows of up to so many keys, and up to so many first keys of longer rows, are sorted by insertion.
inline constexpr std::int64_t insertion_limit = 32;

/// Other rows are sorted by digits of so many bits.
inline constexpr int digit_bits = 8, digit_values = 1 << digit_bits;

/// Keys, and their original positions.
template <class Key>
struct KeyedPositions {
  Key* keys;
  std::uint32_t* positions;
  void move(std::int64_t to, const KeyedPositions& other, std::int64_t from) const {
    keys[to] = other.keys[from];
    positions[to] = other.positions[from];
  }
};

struct SortScratch {
  Scratch keys, positions;
};

/// Sorts the `first` smallest of n to the front, by keeping a list of the smallest found so far.
template <class Key>
void insertion_sort(const KeyedPositions<Key>& items, std::int64_t n, std::int64_t first) {
  for (std::int64_t i = 0; i < n; ++i) {
    const Key key = items.keys[i];
    const std::uint32_t position = items.positions[i];
    std::int64_t at = i;
    if (i >= first) {
      if (items.keys[first - 1] <= key) continue;
      at = first - 1;
    }
    for (; at > 0 && key < items.keys[at - 1]; --at) items.move(at, items, at - 1);
    items.keys[at] = key;
    items.positions[at] = position;
  }
}

/// By the lowest digit, then the next: every pass keeps the order of equal digits, so that the last leaves all sorted.
/// A digit that all keys share costs no pass.
template <class Key>
void radix_sort(const KeyedPositions<Key>& items, std::int64_t n, int bits) {
  const auto digit = [](Key key, int d) {
    return static_cast<std::size_t>(key >> (d * digit_bits) & (digit_values - 1));
  };
  const int digits = (bits + digit_bits - 1) / digit_bits;
  std::uint32_t counts[sizeof(Key)][digit_values] = {};
  for (std::int64_t i = 0; i < n; ++i)
    for (int d = 0; d < digits; ++d) ++counts[d][digit(items.keys[i], d)];
  auto& scratch = of_this_thread<SortScratch>();
  KeyedPositions<Key> from = items;
  KeyedPositions<Key> to{scratch.keys.template reserve<Key>(n), scratch.positions.template reserve<std::uint32_t>(n)};
  for (int d = 0; d < digits; ++d) {
    std::uint32_t(&next)[digit_values] = counts[d];
    if (next[digit(from.keys[0], d)] == static_cast<std::uint32_t>(n)) continue;
    std::uint32_t sum = 0;
    for (std::uint32_t& place : next) sum += std::exchange(place, sum);
    for (std::int64_t i = 0; i < n; ++i) to.move(next[digit(from.keys[i], d)]++, from, i);
    std::swap(from, to);
  }
  if (from.keys == items.keys) return;
  std::memcpy(items.keys, from.keys, static_cast<std::size_t>(n) * sizeof(Key));
  std::memcpy(items.positions, from.positions, static_cast<std::size_t>(n) * sizeof(std::uint32_t));
}

/// Moves keys that may be among the `first` smallest to the front, in their order, and returns their number: from the
/// highest digit down, drops keys above the digit of the last of the smallest.
template <class Key>
[[nodiscard]] std::int64_t keep_smallest(const KeyedPositions<Key>& items, std::int64_t n, std::int64_t first,
                                         int bits) {
  Key prefix = 0;  // the known digits of the last of the smallest
  for (int shift = (bits - 1) / digit_bits * digit_bits; shift >= 0 && n > 2 * first; shift -= digit_bits) {
    std::int64_t counts[digit_values] = {}, smaller = 0;
    for (std::int64_t i = 0; i < n; ++i) {
      const Key key = items.keys[i] >> shift;
      if (static_cast<Key>(key >> digit_bits) == prefix) ++counts[key & (digit_values - 1)];
      else ++smaller;
    }
    Key digit = 0;
    for (; smaller + counts[digit] < first; ++digit) smaller += counts[digit];
    prefix = static_cast<Key>(prefix << digit_bits | digit);
    std::int64_t kept = 0;
    for (std::int64_t i = 0; i < n; ++i)
      if ((items.keys[i] >> shift) <= prefix) items.move(kept++, items, i);
    n = kept;
  }
  return n;
}

}  // namespace detail

template <class Key>
void order(Key* keys, std::uint32_t* positions, std::int64_t rows, std::int64_t cols, int bits, std::int64_t first) {
  const auto sort_row = [&](std::int64_t row) {
    const detail::KeyedPositions<Key> items{keys + row * cols, positions + row * cols};
    if (first <= detail::insertion_limit) detail::insertion_sort(items, cols, first);
    else detail::radix_sort(items, detail::keep_smallest(items, cols, first, bits), bits);
  };
  const std::int64_t parts = locus::detail::smaller(rows, parts_for(rows * cols, elements_per_thread));
  parallel_for(parts, [&](std::int64_t part) {
    for (std::int64_t row = rows * part / parts; row < rows * (part + 1) / parts; ++row) sort_row(row);
  });
}

template <class Flag>
void select(const Flag* flags, std::int64_t n, std::int64_t* positions) {
  for (std::int64_t i = 0; i < n; ++i)
    if (flags[i]) *positions++ = i;
}

}}}  // namespace locus::LOCUS_ABI::cpu

namespace locus { inline namespace LOCUS_ABI {

template <>
struct Sorting<Cpu> {
  template <class Key>
  static void order(Cpu, Key* keys, std::uint32_t* positions, std::int64_t rows, std::int64_t cols, int bits,
                    std::int64_t first) {
    cpu::order(keys, positions, rows, cols, bits, first);
  }

  template <class Flag>
  static void select(Cpu, const Flag* flags, std::int64_t n, std::int64_t* positions) {
    cpu::select(flags, n, positions);
  }
};

static_assert(SortingDevice<Cpu>);

}}  // namespace locus::LOCUS_ABI
