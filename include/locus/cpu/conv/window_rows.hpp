#pragma once
// Rows of images of bfloat16, as products of windows read them, and rows of their sums, as bfloat16.

#include <locus/cpu/conv/pass.hpp>
#include <locus/cpu/conv/window_kernels.hpp>
#include <locus/cpu/gemm/tiles.hpp>
#include <locus/device/convolution.hpp>

#include <cstring>

#include <locus/cpu/unroll_begin.inc>

namespace locus { inline namespace LOCUS_ABI { namespace cpu::detail {

/// Images of some channels of bfloat16.
struct WordImages {
  ConvImages<const bfloat16> images;
  std::int64_t channels, height, width;

  [[nodiscard]] bool has_dense_rows() const { return images.stride[4] == 1 || width == 1; }
  [[nodiscard]] bool has_dense_planes() const { return has_dense_rows() && (images.stride[3] == width || height == 1); }
};

/// How rows of positions lie in a channel's plane: element `col` of row `row` is at row * row_stride + col. Positions
/// and rows outside the plane are zeros.
struct WindowGrid {
  std::int64_t height, width, row_stride;
  std::int64_t row_step, step;  ///< from one row, or position, to the next
  std::int64_t rows, count;     ///< rows, and positions of a row
  std::int64_t lanes = -1;      ///< bit p % 32: whether position p, between whole rows, is inside
};
/// Row 0 and position 0 of a channel; a null plane is zeros.
struct WindowRows {
  const bfloat16* plane;
  std::int64_t row, shift;
};

/// Bit i: whether i % width + shift is a column of the image; width divides 16.
[[nodiscard]] inline std::int64_t lanes_inside(std::int64_t width, std::int64_t shift) {
  const std::int64_t begin = locus::detail::larger<std::int64_t>(-shift, 0);
  const std::int64_t end = locus::detail::larger(locus::detail::smaller(width - shift, width), begin);
  const std::uint32_t whole = (std::uint32_t{1} << width) - 1;
  const std::uint32_t inside = begin < width ? ((std::uint32_t{1} << end) - 1) & ~((std::uint32_t{1} << begin) - 1) : 0;
  const std::uint32_t repeated = inside * (~std::uint32_t{0} / whole);
  return repeated;
}

namespace avx512_bf16 {
typedef std::uint16_t Word __attribute__((may_alias));
typedef std::uint32_t WideWords __attribute__((vector_size(64)));
typedef std::uint16_t UnsignedHalfWords __attribute__((vector_size(32)));
typedef UnsignedHalfWords HalfWordsInMemory __attribute__((aligned(2), may_alias));
typedef Words WordsInMemory __attribute__((aligned(2), may_alias));
typedef float Floats __attribute__((vector_size(64)));
typedef float FloatsInMemory __attribute__((vector_size(64), aligned(4), may_alias));

// Each compiler's name for the instruction.
#if defined(__clang__)
#if __clang_major__ < 16
typedef HalfWords Rounded;
#else
typedef __bf16 Rounded __attribute__((vector_size(32)));
#endif
#define LOCUS_TO_BFLOAT16(sums) __builtin_ia32_cvtneps2bf16_512_mask(sums, Rounded{}, 0xffff)
#else
#define LOCUS_TO_BFLOAT16 __builtin_ia32_cvtneps2bf16_v16sf
#endif

/// The element type to which each compiler's masked stores of words take a pointer.
#if defined(__clang__)
typedef Words StoredWords;
#else
typedef std::int16_t StoredWords;
#endif

/// Bits [begin, end), clipped to [0, width); possibly none.
[[nodiscard]] inline std::uint32_t bits_between(std::int64_t begin, std::int64_t end, std::int64_t width) {
  begin = locus::detail::larger<std::int64_t>(begin, 0), end = locus::detail::smaller(end, width);
  if (begin >= end) return 0;
  return static_cast<std::uint32_t>(((std::uint64_t{1} << end) - 1) & ~((std::uint64_t{1} << begin) - 1));
}

/// Rows [begin, end) of a grid that are inside of the plane.
[[nodiscard]] inline Range rows_inside(const WindowGrid& grid, const WindowRows& from) {
  using locus::detail::larger, locus::detail::smaller;
  if (!from.plane) return {grid.rows, grid.rows};
  const std::int64_t begin = from.row >= 0 ? 0 : ceil_div(-from.row, grid.row_step);
  const std::int64_t left = grid.height - from.row, end = left <= 0 ? 0 : ceil_div(left, grid.row_step);
  return {smaller(begin, grid.rows), larger(smaller(begin, grid.rows), smaller(end, grid.rows))};
}

/// 16 positions of rows, from position `first` on.
struct Positions {
  std::int64_t column, width, step;
  std::uint32_t inside;  ///< of 16 elements where step is 1, of 32 where it is 2

  Positions(const WindowGrid& grid, std::int64_t shift, std::int64_t first)
      : column(first * grid.step + shift), width(grid.width), step(grid.step) {
    inside = bits_between(-column, width - column, step == 1 ? 16 : 32) & static_cast<std::uint32_t>(grid.lanes);
  }
  /// Loads elements as the lower halves of lanes; a null row is zeros.
  [[gnu::always_inline]] LOCUS_AVX512_BF16 void load(WideWords& to, const bfloat16* row) const {
    to = WideWords{};
    if (!row) return;
    if (step == 1) {
      const HalfWords words = __builtin_ia32_loaddquhi256_mask(reinterpret_cast<const Loaded<HalfWords>*>(row + column),
                                                               HalfWords{}, static_cast<std::uint16_t>(inside));
      to = __builtin_convertvector((UnsignedHalfWords)words, WideWords);
    } else if (step == 2) {
      const Words words =
          __builtin_ia32_loaddquhi512_mask(reinterpret_cast<const Loaded<Words>*>(row + column), Words{}, inside);
      to = (WideWords)words & 0xffffu;
    } else {
      std::uint32_t elements[16];
      for (int i = 0; i < 16; ++i) {
        const std::int64_t col = column + i * step;
        elements[i] = col >= 0 && col < width ? *reinterpret_cast<const Word*>(row + col) : 0u;
      }
      std::memcpy(&to, elements, sizeof to);
    }
  }
};

/// to[row * to_row + p] = the pair of two channels at a position. With a border, first writes 16 zeros behind each row,
/// where the next row may begin.
LOCUS_AVX512_BF16 inline void pair_rows(const WindowGrid& grid, const WindowRows& even, const WindowRows& odd,
                                        WindowPair* to, std::int64_t to_row, bool border) {
  for (std::int64_t i = 0; border && i < grid.rows; ++i)
    *reinterpret_cast<PairsInMemory*>(to + i * to_row + grid.count) = Pairs{};
  const Range low_rows = rows_inside(grid, even), high_rows = rows_inside(grid, odd);
  const std::int64_t step = grid.row_step * grid.row_stride;
  for (std::int64_t p = 0; p < grid.count; p += 16) {
    const Positions low_at(grid, even.shift, p), high_at(grid, odd.shift, p);
    const auto written = static_cast<std::uint16_t>(bits_between(0, grid.count - p, 16));
    const bfloat16* low_row = even.plane + even.row * grid.row_stride;
    const bfloat16* high_row = odd.plane ? odd.plane + odd.row * grid.row_stride : low_row;
    WindowPair* target = to + p;
    for (std::int64_t i = 0; i < grid.rows; ++i, target += to_row, low_row += step, high_row += step) {
      WideWords low, high;
      low_at.load(low, low_rows.begin <= i && i < low_rows.end ? low_row : nullptr);
      high_at.load(high, high_rows.begin <= i && i < high_rows.end ? high_row : nullptr);
      __builtin_ia32_storedqusi512_mask(target, (Pairs)(low | high << 16), written);
    }
  }
}

[[gnu::always_inline]] LOCUS_AVX512_BF16 inline void store_words(const Words& words, bfloat16* to,
                                                                 std::uint32_t written) {
  __builtin_ia32_storedquhi512_mask(reinterpret_cast<StoredWords*>(to), words, written);
}
/// 32 positions of rows, or 16 where their step is not 1.
template <int step>
LOCUS_AVX512_BF16 inline void copy_positions(const WindowGrid& grid, const WindowRows& from, std::int64_t first,
                                             const Range& inside, bfloat16* to, std::int64_t to_row) {
  constexpr int width = step == 1 ? 32 : 16;
  const std::int64_t column = first * grid.step + from.shift, row_step = grid.row_step * grid.row_stride;
  const std::uint32_t read = bits_between(-column, grid.width - column, 32) & static_cast<std::uint32_t>(grid.lanes);
  const std::uint32_t written = bits_between(0, grid.count - first, width);
  const Positions at(grid, from.shift, first);
  for (std::int64_t i = 0; i < inside.begin; ++i) store_words(Words{}, to + i * to_row, written);
  const bfloat16* row = from.plane + (from.row + inside.begin * grid.row_step) * grid.row_stride;
  for (std::int64_t i = inside.begin; i < inside.end; ++i, row += row_step) {
    Words words{};
    if constexpr (step != 0)
      words = __builtin_ia32_loaddquhi512_mask(reinterpret_cast<const Loaded<Words>*>(row + column), Words{}, read);
    if constexpr (step != 1) {
      WideWords positions = (WideWords)words;
      if constexpr (step == 0) at.load(positions, row);
      const UnsignedHalfWords half = __builtin_convertvector(positions, UnsignedHalfWords);
      words = Words{};
      std::memcpy(&words, &half, sizeof half);
    }
    store_words(words, to + i * to_row, written);
  }
  for (std::int64_t i = inside.end; i < grid.rows; ++i) store_words(Words{}, to + i * to_row, written);
}
/// to[row * to_row + p] = a channel at a position.
inline void copy_rows(const WindowGrid& grid, const WindowRows& from, bfloat16* to, std::int64_t to_row) {
  const Range inside = rows_inside(grid, from);
  for (std::int64_t p = 0; p < grid.count; p += grid.step == 1 ? 32 : 16) {
    if (grid.step == 1) copy_positions<1>(grid, from, p, inside, to + p, to_row);
    else if (grid.step == 2) copy_positions<2>(grid, from, p, inside, to + p, to_row);
    else copy_positions<0>(grid, from, p, inside, to + p, to_row);
  }
}

/// to[16 k' + lane] for pairs k' of 32 words of 16 rows: rows of pairs, `to_row` apart.
LOCUS_AVX512_BF16 inline void transpose_pairs(const bfloat16* from, std::int64_t from_row, WindowPair* to,
                                              std::int64_t to_row) {
  Floats rows[16];
  LOCUS_UNROLL
  for (int i = 0; i < 16; ++i) rows[i] = *reinterpret_cast<const FloatsInMemory*>(from + i * from_row);
  avx512::transpose_rows<float>(rows);
  LOCUS_UNROLL
  for (int i = 0; i < 16; ++i) *reinterpret_cast<FloatsInMemory*>(to + i * to_row) = rows[i];
}

/// Rounds sums, as the lower halves of lanes.
[[gnu::always_inline]] LOCUS_AVX512_BF16 inline void round_sums(WideWords& to, const Floats& sums) {
  to = __builtin_convertvector((UnsignedHalfWords)LOCUS_TO_BFLOAT16(sums), WideWords);
}
#undef LOCUS_TO_BFLOAT16

/// y(i, j) (+)= sums(i, j) + bias[i], of at most 16 columns.
LOCUS_AVX512_BF16 inline void store_sums(const float* sums, std::int64_t sums_row, const float* bias, std::int64_t rows,
                                         std::int64_t count, bfloat16* y, std::int64_t y_row, bool adds) {
  for (std::int64_t i = 0; i < rows; ++i, sums += sums_row, y += y_row) {
    Floats row = *reinterpret_cast<const FloatsInMemory*>(sums) + bias[i];
    if (adds) {
      HalfWords words;
      load_first(words, y, count);
      row += (Floats)(__builtin_convertvector((UnsignedHalfWords)words, WideWords) << 16);
    }
    WideWords rounded;
    round_sums(rounded, row);
    const UnsignedHalfWords words = __builtin_convertvector(rounded, UnsignedHalfWords);
    if (count >= 16) *reinterpret_cast<HalfWordsInMemory*>(y) = words;
    else std::memcpy(static_cast<void*>(y), &words, static_cast<std::size_t>(count) * sizeof(bfloat16));
  }
}
/// y(j, i) (+)= sums(i, j) + bias[i], of 16 rows of sums and of `count` columns, of which `valid` elements each are
/// stored. Without a bias: null.
LOCUS_AVX512_BF16 inline void store_transposed(const float* sums, std::int64_t sums_row, const float* bias,
                                               std::int64_t count, std::int64_t valid, bfloat16* y, std::int64_t y_row,
                                               bool adds) {
  Floats rows[16];
  LOCUS_UNROLL
  for (int i = 0; i < 16; ++i)
    rows[i] = *reinterpret_cast<const FloatsInMemory*>(sums + i * sums_row) + (bias ? bias[i] : 0.f);
  avx512::transpose_rows<float>(rows);
  alignas(64) float columns[16 * 16];
  LOCUS_UNROLL
  for (std::int64_t i = 0; i < 16; ++i) *reinterpret_cast<FloatsInMemory*>(columns + i * 16) = rows[i];
  constexpr float no_bias[16] = {};
  store_sums(columns, 16, no_bias, count, valid, y, y_row, adds);
}
/// y[2 j] (+)= even[j] + bias, y[2 j + 1] (+)= odd[j] + bias, of `count` elements of y.
LOCUS_AVX512_BF16 inline void store_woven(const float* even, const float* odd, float bias, std::int64_t count,
                                          bfloat16* y, bool adds) {
  for (; count > 0; count -= 32, even += 16, odd += 16, y += 32) {
    Floats low = *reinterpret_cast<const FloatsInMemory*>(even) + bias,
           high = *reinterpret_cast<const FloatsInMemory*>(odd) + bias;
    if (adds) {
      Words words;
      load_first(words, y, count);
      low += (Floats)((WideWords)words << 16);
      high += (Floats)((WideWords)words & 0xffff0000u);
    }
    WideWords first, second;
    round_sums(first, low);
    round_sums(second, high);
    const WideWords woven = first | second << 16;
    if (count >= 32) *reinterpret_cast<WordsInMemory*>(y) = (Words)woven;
    else std::memcpy(static_cast<void*>(y), &woven, static_cast<std::size_t>(count) * sizeof(bfloat16));
  }
}
}  // namespace avx512_bf16

/// The plane of a channel of an image, for reads of `rows` rows from `first` on: in place or, if elements of a row are
/// not side by side, a copy with rows of x.width elements.
[[nodiscard]] inline const bfloat16* plane_of(const WordImages& x, std::int64_t image, std::int64_t channel,
                                              std::int64_t first, std::int64_t rows, Scratch& scratch) {
  const auto& stride = x.images.stride;
  const bfloat16* const from = x.images.data + image * stride[0] + channel * stride[1];
  if (x.has_dense_rows()) return from;
  const std::int64_t begin = locus::detail::larger<std::int64_t>(first, 0);
  const std::int64_t end = locus::detail::larger(locus::detail::smaller(first + rows, x.height), begin);
  bfloat16* const room = scratch.reserve<bfloat16>((end - begin) * x.width);
  for (std::int64_t row = begin; row < end; ++row)
    for (std::int64_t col = 0; col < x.width; ++col)
      room[(row - begin) * x.width + col] = from[row * stride[3] + col * stride[4]];
  return room - begin * x.width;
}
[[nodiscard]] inline std::int64_t plane_row(const WordImages& x) {
  return x.has_dense_rows() ? x.images.stride[3] : x.width;
}

}}}  // namespace locus::LOCUS_ABI::cpu::detail

#include <locus/cpu/unroll_end.inc>
