#pragma once
// CUB's sort of pairs on the host.

#include <cub/simulated.hpp>

#include <numeric>

namespace cub {

template <class T>
struct DoubleBuffer {
  T* d_buffers[2];
  int selector = 0;
  DoubleBuffer(T* current, T* alternate) : d_buffers{current, alternate} {}
  T* Current() { return d_buffers[selector]; }
  T* Alternate() { return d_buffers[selector ^ 1]; }
};

struct DeviceRadixSort {
  /// Leaves the result in the other buffer after an odd number of passes, of 8 bits each, and nothing in this one.
  template <class Key, class Value>
  static cudaError_t SortPairs(void* memory, std::size_t& bytes, DoubleBuffer<Key>& keys, DoubleBuffer<Value>& values,
                               int items, int first_bit, int end_bit, cudaStream_t stream) {
    if (items < 1 || first_bit != 0 || end_bit < 1 || end_bit > 8 * static_cast<int>(sizeof(Key)))
      simulated::stop("a sort of nothing, or by bits that keys do not have");
    const bool runs = memory != nullptr, ends_in_the_other = (end_bit + 7) / 8 % 2 != 0;
    const auto sort = [items, end_bit, ends_in_the_other, given_keys = keys, given_values = values] {
      DoubleBuffer<Key> keys = given_keys;  // anew in each replay
      DoubleBuffer<Value> values = given_values;
      const Key mask = static_cast<Key>(~Key{0}) >> (8 * sizeof(Key) - static_cast<std::size_t>(end_bit));
      std::vector<int> order(static_cast<std::size_t>(items));
      std::iota(order.begin(), order.end(), 0);
      std::stable_sort(order.begin(), order.end(),
                       [&](int a, int b) { return (keys.Current()[a] & mask) < (keys.Current()[b] & mask); });
      for (int i = 0; i < items; ++i) {
        keys.Alternate()[i] = keys.Current()[order[static_cast<std::size_t>(i)]];
        values.Alternate()[i] = values.Current()[order[static_cast<std::size_t>(i)]];
      }
      const auto items_of = [&](auto& buffer) { return static_cast<std::size_t>(items) * sizeof(*buffer.Current()); };
      if (!ends_in_the_other) {
        std::memcpy(keys.Current(), keys.Alternate(), items_of(keys));
        std::memcpy(values.Current(), values.Alternate(), items_of(values));
      } else {
        keys.selector ^= 1;
        values.selector ^= 1;
      }
      std::memset(keys.Alternate(), 0xab, items_of(keys));
      std::memset(values.Alternate(), 0xab, items_of(values));
    };
    const cudaError_t error =
        simulated::in_two_calls(memory, bytes, 100 + static_cast<std::size_t>(items), stream, sort);
    if (runs && ends_in_the_other) {
      keys.selector ^= 1;
      values.selector ^= 1;
    }
    return error;
  }
};

}  // namespace cub
