#pragma once
// Shared by tests of sorting: NaN and infinity, and sorting and counting of the device Counting, as on Cpu.

#include <locus/cpu/histogram.hpp>
#include <locus/cpu/sorting.hpp>

#include <support/counting.hpp>

#include <limits>

namespace locus_test {
inline constexpr double not_a_number = std::numeric_limits<double>::quiet_NaN();
inline constexpr double infinite = std::numeric_limits<double>::infinity();
}  // namespace locus_test

namespace locus { inline namespace LOCUS_ABI {

template <>
struct Sorting<locus_test::Counting> {
  using Self = locus_test::Counting;
  using Host = Sorting<Cpu>;

  template <class Key>
  static void order(Self, Key* keys, std::uint32_t* positions, std::int64_t rows, std::int64_t cols, int bits,
                    std::int64_t first) {
    Host::order({}, keys, positions, rows, cols, bits, first);
  }
  template <class Flag>
  static void select(Self, const Flag* flags, std::int64_t n, std::int64_t* positions) {
    Host::select({}, flags, n, positions);
  }
};

template <>
struct Histogram<locus_test::Counting> {
  template <class Bin>
  static void count(locus_test::Counting, const Bin* bins, std::int64_t n, std::int64_t* counts,
                    std::int64_t bin_count) {
    Histogram<Cpu>::count({}, bins, n, counts, bin_count);
  }
};

}}  // namespace locus::LOCUS_ABI
