#pragma once
// Sorting and selecting in whole lists, by CUB's device-wide functions.

#include <locus/cuda/copy.hpp>
#include <locus/cuda/map.cuh>

#include <cub/device/device_radix_sort.cuh>
#include <cub/device/device_select.cuh>

#include <bit>
#include <cstddef>
#include <iterator>

namespace locus { inline namespace LOCUS_ABI { namespace cuda {

/// Most items in one call of CUB, which counts with 32 bits; longer lists are cut.
inline constexpr int64_t most_items = INT32_MAX;

namespace detail {

/// Calls a function of CUB twice: for the size of its working memory, and to run. It reads and writes the lists, or
/// reads those that are const.
template <class F, class... List>
void run_cub(Context& context, const char* operation, int64_t items, const F& call, List*... lists) {
  std::size_t bytes = 0;
  check(call(nullptr, bytes), operation);
  const Scratch scratch(context, bytes > 0 ? bytes : 1);  // with a null pointer it would only report the size again
  if (streams_are_checked()) [[unlikely]]
    context.check_order_of({operation, nullptr, Shape{items}}, lists...);
  LaunchTrace trace(context);
  if (locus::detail::launches_are_observed()) [[unlikely]]
    trace.begin({operation, nullptr, Shape{items}});
  check(call(scratch.as<void>(), bytes), operation);
  context.launched(operation, std::array<std::int64_t, 1>{items});
  trace.end();
}

/// Stable sort, by keys below 2^bits. Current() of each pair of buffers is the result.
template <class Key>
void sort_pairs(Context& context, cub::DoubleBuffer<Key>& keys, cub::DoubleBuffer<std::uint32_t>& positions,
                int64_t items, int bits) {
  const auto sort = [&](void* memory, std::size_t& bytes) {
    return cub::DeviceRadixSort::SortPairs(memory, bytes, keys, positions, static_cast<int>(items), 0, bits,
                                           context.stream());
  };
  run_cub(context, "sort", items, sort, keys.Current(), positions.Current());
}

/// The row of a position in a matrix whose first position is `first`.
struct RowOfPosition {
  std::uint32_t first, cols;
  LOCUS_FN void operator()(std::uint32_t position, std::uint32_t& row) const { row = (position - first) / cols; }
};

/// Sorts rows of at most most_items items together: by key, then by row. The second sort keeps the order within each
/// row, so no kernel needs to know where rows begin, and short rows cost no more than long ones.
template <class Key>
void order_rows(Context& context, Key* keys, std::uint32_t* positions, int64_t first_row, int64_t rows, int64_t cols,
                int bits) {
  const int64_t items = rows * cols;
  const Scratch key_room(context, static_cast<std::size_t>(items) * sizeof(Key));
  const Scratch position_room(context, static_cast<std::size_t>(items) * sizeof(std::uint32_t));
  cub::DoubleBuffer<Key> by_key(keys, key_room.as<Key>());
  cub::DoubleBuffer<std::uint32_t> moved(positions, position_room.as<std::uint32_t>());
  sort_pairs(context, by_key, moved, items, bits);
  if (rows > 1) {
    cub::DoubleBuffer<std::uint32_t> by_row(reinterpret_cast<std::uint32_t*>(keys), key_room.as<std::uint32_t>());
    const RowOfPosition row_of{static_cast<std::uint32_t>(first_row * cols), static_cast<std::uint32_t>(cols)};
    const Strides dense{1};
    map(context, make_plan<2>(Shape{items}, std::array<Strides, 2>{dense, dense}), row_of,
        Pack<const std::uint32_t*>(moved.Current()), Pack<std::uint32_t*>(by_row.Current()));
    sort_pairs(context, by_row, moved, items, static_cast<int>(std::bit_width(static_cast<std::uint64_t>(rows - 1))));
  }
  if (moved.Current() == positions) return;
  if (streams_are_checked()) [[unlikely]]
    context.check_order({"sort"}, moved.Current(), positions, static_cast<std::size_t>(items) * sizeof(std::uint32_t));
  check(cudaMemcpyAsync(positions, moved.Current(), static_cast<std::size_t>(items) * sizeof(std::uint32_t),
                        cudaMemcpyDeviceToDevice, context.stream()),
        "cudaMemcpyAsync");
}

/// The numbers from `first` on, as CUB reads them.
struct CountedFrom {
  using value_type = int64_t;
  using reference = int64_t;
  using pointer = const int64_t*;
  using difference_type = std::ptrdiff_t;
  using iterator_category = std::random_access_iterator_tag;
  int64_t first;
  [[nodiscard]] LOCUS_FN int64_t operator*() const { return first; }
  [[nodiscard]] LOCUS_FN int64_t operator[](difference_type i) const { return first + i; }
  [[nodiscard]] LOCUS_FN friend CountedFrom operator+(CountedFrom from, difference_type i) { return {from.first + i}; }
};

}  // namespace detail

/// Implements order of SortingDevice, over whole rows; at most `most` items at a time, or one row.
template <class Key>
void order(Context& context, Key* keys, std::uint32_t* positions, int64_t rows, int64_t cols, int bits,
           int64_t most = most_items) {
  const int64_t together = cols < most ? most / cols : 1;
  for (int64_t row = 0; row < rows; row += together) {
    const int64_t count = together < rows - row ? together : rows - row;
    detail::order_rows(context, keys + row * cols, positions + row * cols, row, count, cols, bits);
  }
}

/// Implements select of SortingDevice. Waits for the GPU if the list is cut, to learn where the next part goes.
template <class Flag>
void select(Context& context, const Flag* flags, int64_t n, int64_t* positions, int64_t most = most_items) {
  const Scratch found(context, sizeof(int64_t));
  for (int64_t begin = 0; begin < n; begin += most) {
    const int64_t items = most < n - begin ? most : n - begin;
    const auto selected = [&](void* memory, std::size_t& bytes) {
      return cub::DeviceSelect::Flagged(memory, bytes, detail::CountedFrom{begin}, flags + begin, positions,
                                        found.as<int64_t>(), static_cast<int>(items), context.stream());
    };
    detail::run_cub(context, "select", items, selected, flags + begin, positions);
    if (begin + items == n) return;
    int64_t count = 0;
    copy_to_host(Cuda{context.ordinal()}, found.as<int64_t>(), &count, sizeof count);
    positions += count;
  }
}

}}}  // namespace locus::LOCUS_ABI::cuda
