#pragma once
// Squares of elements, as wide as a vector of 16 bytes, transposed in registers that every processor has.

#include <cstdint>

namespace locus { inline namespace LOCUS_ABI { namespace cpu::detail {

/// Elements along a side.
template <class T>
inline constexpr int square_side = 16 / sizeof(T);

/// to(j, i) = from(i, j), elements of 4 or 8 bytes. Reads and writes whole lines, at the given strides; only the first
/// `from_lines` and `to_lines` need to exist.
template <int from_lines, int to_lines, class T>
inline void transpose_square(const T* from, std::int64_t from_stride, T* to, std::int64_t to_stride) {
  typedef T Line __attribute__((vector_size(16)));
  const auto line = [&](int i) {
    Line elements;
    __builtin_memcpy(&elements, from + (i < from_lines ? i : from_lines - 1) * from_stride, sizeof elements);
    return elements;
  };
  const auto store = [&](int i, const Line& elements) {
    if (i < to_lines) __builtin_memcpy(to + i * to_stride, &elements, sizeof elements);
  };
  if constexpr (square_side<T> == 4) {
    const Line a = line(0), b = line(1), c = line(2), d = line(3);
    const Line even = __builtin_shufflevector(a, c, 0, 4, 1, 5), even_2 = __builtin_shufflevector(a, c, 2, 6, 3, 7);
    const Line odd = __builtin_shufflevector(b, d, 0, 4, 1, 5), odd_2 = __builtin_shufflevector(b, d, 2, 6, 3, 7);
    store(0, __builtin_shufflevector(even, odd, 0, 4, 1, 5));
    store(1, __builtin_shufflevector(even, odd, 2, 6, 3, 7));
    store(2, __builtin_shufflevector(even_2, odd_2, 0, 4, 1, 5));
    store(3, __builtin_shufflevector(even_2, odd_2, 2, 6, 3, 7));
  } else {
    const Line a = line(0), b = line(1);
    store(0, __builtin_shufflevector(a, b, 0, 2));
    store(1, __builtin_shufflevector(a, b, 1, 3));
  }
}

}}}  // namespace locus::LOCUS_ABI::cpu::detail
