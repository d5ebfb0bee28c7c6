#pragma once
// Compares running sums, sorting and counting of a device with the reference device's; see compare_verbs.hpp.

#include <support/compare_verbs.hpp>
#include <support/reference_capabilities.hpp>

namespace locus_test {

template <class D, class T>
void compare_running_sums(Difference& difference, RandomLayouts& random, const std::int64_t (&extents)[3]) {
  const std::int64_t outer = extents[0], cols = extents[1], inner = extents[2], size = outer * cols * inner;
  const Twin<T, D> in(random, size), out(random, size);
  for (const bool reverse : {false, true}) {
    const auto launch = [&](auto place) {
      const T* const from = in.at(place);
      locus::RunningSums<decltype(place)>::add(place, from, out.at(place), outer, cols, inner, reverse);
    };
    launch(ReferenceDevice{});
    launch(D{});
    difference.note(out.difference(), "running sums of ", Shape{outer, cols, inner}, reverse ? ", in reverse" : "");
  }
}

/// Keys of `bits` bits, some of them equal.
template <class D, class Key>
void compare_order(Difference& difference, RandomLayouts& random, std::int64_t rows, std::int64_t cols, int bits,
                   std::int64_t first) {
  const Twin<Key, D> keys(random, rows * cols, std::int64_t{1} << std::min(bits, 40));
  Twin<std::uint32_t, D> positions(rows * cols);
  positions.fill([](std::int64_t i) { return i; });
  const auto launch = [&](auto place) {
    locus::Sorting<decltype(place)>::order(place, keys.at(place), positions.at(place), rows, cols, bits, first);
  };
  launch(ReferenceDevice{});
  launch(D{});
  difference.note(positions.difference(0, [&](std::int64_t i) { return i % cols >= first; }), "order of ", rows,
                  " rows of ", cols, " keys of ", bits, " bits, the first ", first);
}

template <class D>
void compare_select(Difference& difference, RandomLayouts& random, std::int64_t n) {
  const Twin<bool, D> flags(random, n, 3);
  const std::int64_t count = std::count(flags.at(ReferenceDevice{}), flags.at(ReferenceDevice{}) + n, true);
  const Twin<std::int64_t, D> positions(random, count + 1);
  const auto launch = [&](auto place) {
    const bool* const from = flags.at(place);
    locus::Sorting<decltype(place)>::select(place, from, n, positions.at(place));
  };
  launch(ReferenceDevice{});
  launch(D{});
  difference.note(positions.difference(), "select of ", n, " flags");
}

template <class D>
void compare_count(Difference& difference, RandomLayouts& random, std::int64_t n, std::int64_t bins) {
  const Twin<std::int32_t, D> numbers(random, n, 3 * bins);  // numbers below, in and above the bins
  const Twin<std::int64_t, D> counts(random, bins);
  const auto launch = [&](auto place) {
    const std::int32_t* const from = numbers.at(place);
    locus::Histogram<decltype(place)>::count(place, from, n, counts.at(place), bins);
  };
  launch(ReferenceDevice{});
  launch(D{});
  difference.note(counts.difference(), "counts of ", n, " numbers in ", bins, " bins");
}

/// Sorting and counting of several sizes.
template <class D>
[[nodiscard]] std::string compare_lists(std::uint64_t seed) {
  Difference difference;
  RandomLayouts random(seed);
  for (int trial = 0; trial < 30; ++trial) {
    const std::int64_t cols = 1 + random.below(trial % 5 == 0 ? 3000 : 60), rows = 1 + random.below(4);
    compare_order<D, std::uint32_t>(difference, random, rows, cols, 1 + static_cast<int>(random.below(32)),
                                    1 + random.below(cols));
    compare_order<D, std::uint64_t>(difference, random, rows, cols, 1 + static_cast<int>(random.below(39)), cols);
    compare_select<D>(difference, random, random.below(2000));
    compare_count<D>(difference, random, random.below(2000), 1 + random.below(50));
  }
  return difference.text();
}

template <class D>
[[nodiscard]] std::string compare_all_running_sums(std::uint64_t seed) {
  Difference difference;
  RandomLayouts random(seed);
  for (int trial = 0; trial < 30; ++trial) {
    const std::int64_t inner = trial % 2 ? 1 : 1 + random.below(200);
    compare_running_sums<D, double>(difference, random, {1 + random.below(9), 1 + random.below(300), inner});
    compare_running_sums<D, std::int32_t>(difference, random, {1 + random.below(9), 1 + random.below(300), inner});
  }
  return difference.text();
}

template <class D>
[[nodiscard]] std::string compare_all_column_sums(std::uint64_t seed) {
  Difference difference;
  RandomLayouts random(seed);
  for (const std::int64_t cols : {1, 15, 16, 17, 100, 1040}) {
    for (const std::int64_t rows : {1, 7, 64, 130}) compare_column_sums<D, float>(difference, random, rows, cols);
    compare_column_sums<D, float>(difference, random, 0, cols);
  }
  compare_column_sums<D, locus::half>(difference, random, 30, 40);
  return difference.text();
}

}  // namespace locus_test
