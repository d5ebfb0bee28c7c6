#pragma once
// Capabilities of the reference device: running sums, sorting and counting, in plain loops.

#include <support/reference_device.hpp>

#include <algorithm>
#include <utility>

namespace locus { inline namespace LOCUS_ABI {

template <>
struct RunningSums<locus_test::ReferenceDevice> {
  template <class T>
  static void add(locus_test::ReferenceDevice, const T* in, T* out, std::int64_t outer, std::int64_t cols,
                  std::int64_t inner, bool reverse) {
    using Sum = locus_test::exact_sum_t<T>;
    ++detail::launches.rows;
    for (std::int64_t o = 0; o < outer; ++o)
      for (std::int64_t i = 0; i < inner; ++i) {
        Sum sum = 0;
        for (std::int64_t c = 0; c < cols; ++c) {
          const std::int64_t at = (o * cols + (reverse ? cols - 1 - c : c)) * inner + i;
          sum = static_cast<Sum>(sum + static_cast<Sum>(load_as_register(in[at])));
          out[at] = from_register<T>(static_cast<compute_t<T>>(sum));
        }
      }
  }
};

template <>
struct Sorting<locus_test::ReferenceDevice> {
  template <class Key>
  static void order(locus_test::ReferenceDevice, Key* keys, std::uint32_t* positions, std::int64_t rows,
                    std::int64_t cols, int, std::int64_t first) {
    for (std::int64_t row = 0; row < rows; ++row) {
      std::vector<std::pair<Key, std::uint32_t>> items;
      for (std::int64_t c = 0; c < cols; ++c) items.emplace_back(keys[row * cols + c], positions[row * cols + c]);
      std::stable_sort(items.begin(), items.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
      std::reverse(items.begin() + first, items.end());  // any order is allowed: no caller may rely on one
      for (std::int64_t c = 0; c < cols; ++c) positions[row * cols + c] = items[static_cast<std::size_t>(c)].second;
    }
  }
  template <class Flag>
  static void select(locus_test::ReferenceDevice, const Flag* flags, std::int64_t n, std::int64_t* positions) {
    for (std::int64_t i = 0; i < n; ++i)
      if (flags[i]) *positions++ = i;
  }
};

template <>
struct Histogram<locus_test::ReferenceDevice> {
  template <class Bin>
  static void count(locus_test::ReferenceDevice, const Bin* bins, std::int64_t n, std::int64_t* counts,
                    std::int64_t bin_count) {
    for (std::int64_t i = 0; i < n; ++i)
      if (bins[i] >= 0 && bins[i] < bin_count) ++counts[bins[i]];
  }
};

static_assert(AddsRunningSums<locus_test::ReferenceDevice> && SortingDevice<locus_test::ReferenceDevice> &&
              HistogramDevice<locus_test::ReferenceDevice> && SumsColumns<locus_test::ReferenceDevice>);

}}  // namespace locus::LOCUS_ABI
