#pragma once
// How a product of floating-point numbers is computed: one function of the call, of the processor's kernels, and of the
// number of threads. Comments name the headers that implement each way.

#include <locus/core/std/bounds.hpp>
#include <locus/cpu/gemm/cblas.hpp>
#include <locus/cpu/gemm/tiles.hpp>

namespace locus { inline namespace LOCUS_ABI { namespace cpu::detail {

enum class GemmStrategy {
  numbers,              ///< one number after the other: small.hpp
  few_tiles,            ///< tiles with the operands in place, without a plan: small.hpp
  narrow,               ///< rows of at most half a vector: narrow.hpp
  columns_of_b,         ///< dot products of the rows of a with the columns of b, as vectors: vector.hpp
  rows_of_a,            ///< the same with the rows of a as vectors
  few_rows,             ///< a few rows times a large b whose rows lie along c: few_rows.hpp
  transposed,           ///< the strategy for the transpose, which writes along rows of memory
  library,              ///< CBLAS: cblas.hpp
  transposed_in_place,  ///< in_place, of the transpose, whose columns are the rows of c
  transposed_tiles,     ///< tiles, of the transpose
  apart,                ///< the tail columns by themselves, which would waste most of a tile: gemm.hpp
  in_place,             ///< tiles with the operands in place: in_place.hpp
  tiles                 ///< blocks, packed and shared among threads: product.hpp
};

/// Whether c is narrow enough for multiply_narrow, and nothing is added to it. A column is better computed as a row, if
/// the layout of a allows it.
template <class T>
[[nodiscard]] bool is_narrow(const KernelSet<T>& kernels, const GemmCall<T>& call) {
  if (call.c.cols == 1 && call.a.row_stride == 1) return false;
  return kernels.multiply_narrow && call.plain && !call.accumulates && 2 * call.c.cols <= kernels.lanes &&
         call.c.rows >= kernels.least_narrow_rows && call.a.cols <= direct_depth && call.c.col_stride == 1;
}
/// Estimated cycles of multiply_narrow.
template <class T>
[[nodiscard]] std::int64_t narrow_cycles(const GemmCall<T>& call) {
  const std::int64_t k = call.a.cols, packed = call.b.col_stride == 1 ? 0 : call.c.cols * k;
  return call.c.rows * (2 * k / 3 + 4) + packed;
}

/// The operand to take as vectors, if a product is computed as rows of a matrix times a few vectors, both contiguous
/// along the depth.
enum class Vectors { none, columns_of_b, rows_of_a };

/// Vector registers for so many elements; lanes are a power of two.
[[nodiscard]] constexpr std::int64_t registers_for(std::int64_t elements, int lanes) {
  return (elements + lanes - 1) >> __builtin_ctz(static_cast<unsigned>(lanes));
}

/// The operand to take as vectors if that is faster than tiles, by an estimate of the cycles.
template <class T>
[[nodiscard]] Vectors find_vectors(const KernelSet<T>& kernels, const GemmCall<T>& call) {
  const std::int64_t m = call.c.rows, n = call.c.cols, k = call.a.cols;
  const bool columns = call.a.col_stride == 1, rows = call.b.row_stride == 1;
  if (kernels.masks && k <= 4 && (m == 1 || n == 1) && m * n >= 128) return Vectors::none;
  if (columns && n == 1) return Vectors::columns_of_b;
  if (rows && m == 1) return Vectors::rows_of_a;
  const std::int64_t most = kernels.masks ? 64 : k < 2 * kernels.lanes ? 1 : 4;  // sets with masks do four at a time
  const bool of_b = columns && n <= most && (n <= m || !rows), of_a = !of_b && rows && m <= most;
  if (!of_b && !of_a) return Vectors::none;
  const std::int64_t vectors = of_b ? n : m, computed = vectors + (vectors % 4 == 3 ? 1 : 0);
  if (vectors > few_vectors && vectors * k > most_read_again) return Vectors::none;
  const std::int64_t copied = (of_b ? rows : columns) ? 0 : vectors * k / 2;
  const std::int64_t by_vectors = computed * (of_b ? m : n) * (registers_for(k, kernels.lanes) + 4) + copied;
  // Tiles compute the transpose if it is dense along rows. With few rows and one register, each addition waits for the
  // previous one.
  const bool exchanged = is_transposed(call);
  const std::int64_t height = exchanged ? n : m, width = exchanged ? m : n;
  const std::int64_t packed = (exchanged ? call.a.row_stride : call.b.col_stride) == 1 ? 0 : width * k;
  const std::int64_t waited_for = width > kernels.lanes || (kernels.masks && height <= 2) ? 0 : height % 2 == 0 ? 4 : 8;
  const std::int64_t by_tiles =
      is_narrow(kernels, call)
          ? narrow_cycles(call)
          : locus::detail::larger(height, waited_for) * (registers_for(width, kernels.lanes) * k + 6) + packed;
  return by_vectors >= by_tiles ? Vectors::none : of_b ? Vectors::columns_of_b : Vectors::rows_of_a;
}

/// Whether the transpose of c, whose elements lie apart in memory, is faster to compute than c, because c has few
/// columns: by an estimate of the cycles.
template <class T>
[[nodiscard]] bool is_faster_transposed(const KernelSet<T>& kernels, const GemmCall<T>& call) {
  const std::int64_t m = call.c.rows, n = call.c.cols, k = call.a.cols;
  const int lanes = kernels.lanes;
  if (!call.plain || call.a.row_stride != 1 || n >= std::int64_t{2} * lanes) return false;
  const std::int64_t by_rows = is_narrow(kernels, call) ? narrow_cycles(call) : m * registers_for(n, lanes) * k + 6 * m;
  return n * registers_for(m, lanes) * k + 2 * m * n < by_rows;
}

/// Whether the tiles are so few that they take less time than planning the product. For few columns, dot products are
/// faster.
template <class T>
[[nodiscard]] bool has_few_tiles(const KernelSet<T>& kernels, const GemmCall<T>& call) {
  const std::int64_t m = call.c.rows, n = call.c.cols, k = call.a.cols;
  if (!kernels.masks || call.b.col_stride != 1 || call.c.col_stride != 1 || k > direct_depth) return false;
  if (n < 2 || (n == 2 && m > 2 && k > 8)) return false;
  return m * k * registers_for(n, kernels.lanes) <= (n <= 4 && m > 2 ? most_narrow_work : most_small_work);
}
/// Whether operands may be read, and sums be written, in place. Columns of c may be dense, too.
template <class T>
[[nodiscard]] bool fits_in_place(const KernelSet<T>& kernels, const GemmCall<T>& call) {
  if (!kernels.masks || !call.plain || call.accumulates || call.b.col_stride != 1) return false;
  if (call.c.col_stride != 1 && call.c.row_stride != 1) return false;
  const double work = work_of(call.c, call.a.cols);
  return call.a.cols <= direct_depth && work <= most_in_place && threads_for(work) == 1;
}

/// Whether packed operands of `tiles` repay the copy. In sets without masks, a tile reads b in place a line at a time:
/// two lines where rows do not begin on one, and lines that evict each other from the first-level cache where rows lie
/// a multiple of 4 KiB apart.
template <class T>
[[nodiscard]] bool packing_pays(const KernelSet<compute_t<T>>& kernels, const GemmCall<T>& call) {
  const std::int64_t m = call.c.rows, n = call.c.cols, k = call.a.cols;
  constexpr auto size = static_cast<std::int64_t>(sizeof(T));
  if (kernels.masks || call.b.col_stride != 1) {
    const std::int64_t most_right = m <= 4 * kernels.max_rows ? 2 * direct_right : direct_right;
    return work_of(call.c, k) > direct_work && k * n > most_right;
  }
  const bool whole_lines = call.b.row_stride * size % 64 == 0, same_set = call.b.row_stride * size % 4096 == 0;
  if (k * n * size <= small_right) return !whole_lines && m >= packed_from_small;
  return m >= (same_set ? packed_from_aliased : whole_lines ? packed_from_whole : packed_from_split);
}

/// The product of some columns of b.
template <class T>
[[nodiscard]] GemmCall<T> with_columns(const GemmCall<T>& call, std::int64_t first, std::int64_t cols) {
  GemmCall<T> part = call;
  part.b = columns_of(call.b, first, cols);
  part.c = columns_of(call.c, first, cols);
  return part;
}
/// Columns of c that fill whole registers.
template <class T>
[[nodiscard]] std::int64_t whole_columns(const KernelSet<T>& kernels, const GemmCall<T>& call) {
  return call.c.cols & -static_cast<std::int64_t>(kernels.lanes);
}
/// Whether the tail columns are so few that a tile would waste most of its registers, and a product of their own is
/// faster.
template <class T>
[[nodiscard]] bool is_faster_apart(const KernelSet<T>& kernels, const GemmCall<T>& call) {
  const std::int64_t whole = whole_columns(kernels, call), rest = call.c.cols - whole;
  if (rest == 0 || rest > most_apart || whole == 0 || !call.plain || call.c.rows * call.a.cols > most_read_twice)
    return false;
  if (call.c.rows <= 2 && kernels.masks) return false;
  const GemmCall<T> last = with_columns(call, whole, rest);
  return find_vectors(kernels, last) != Vectors::none || is_faster_transposed(kernels, last);
}

/// The strategy for products so small that the full choice would take longer than the product; `tiles` for others.
template <class T>
[[nodiscard]] GemmStrategy small_strategy(const KernelSet<T>& kernels, const GemmCall<T>& call) {
  const std::int64_t work = call.c.rows * call.a.cols;
  if (!call.plain || work > most_small_work) return GemmStrategy::tiles;
  if (call.c.rows * call.c.cols <= fewest_sums && work * call.c.cols <= fewest_work) return GemmStrategy::numbers;
  if (call.a.cols <= most_shallow_depth && !is_faster_transposed(kernels, call) && is_narrow(kernels, call))
    return GemmStrategy::narrow;
  if (has_few_tiles(kernels, call)) return GemmStrategy::few_tiles;
  const std::int64_t most = call.a.cols > 2 && call.a.row_stride != 1 ? most_tiny_work : most_shallow_work;
  return work * call.c.cols <= most ? GemmStrategy::numbers : GemmStrategy::tiles;
}

/// Whether b is a large weight for few rows of a, and its rows lie along c.
template <class T>
[[nodiscard]] bool has_few_rows(const GemmCall<T>& call) {
  constexpr std::int64_t most = is_16_bit_float<T> ? most_few_rows : most_float_rows;
  return call.c.rows <= most && call.b.col_stride == 1 && call.c.cols >= 64 && call.a.cols >= 16 &&
         call.a.cols * call.c.cols >= fewest_weights;
}

/// For elements that are converted in registers: of the ways that do not pack, these pay.
template <class T>
  requires is_16_bit_float<T>
[[nodiscard]] GemmStrategy strategy_of(const GemmCall<T>& call) {
  const std::int64_t m = call.c.rows, n = call.c.cols, k = call.a.cols;
  if (k > 0 && call.b.row_stride == 1 && m <= most_few_rows && m <= n) return GemmStrategy::rows_of_a;
  if (k > 0 && call.a.col_stride == 1 && n <= most_few_rows) return GemmStrategy::columns_of_b;
  return has_few_rows(call) ? GemmStrategy::few_rows : GemmStrategy::tiles;
}

/// T: the type of both elements and sums.
template <class T>
[[nodiscard]] GemmStrategy strategy_of(const KernelSet<T>& kernels, const GemmCall<T>& call) {
  using enum GemmStrategy;
  if (const GemmStrategy small = small_strategy(kernels, call); small != tiles) return small;
  const Vectors vectors = find_vectors(kernels, call);
  if (vectors != Vectors::none) return vectors == Vectors::columns_of_b ? columns_of_b : rows_of_a;
  if (is_transposed(call)) return transposed;
  if (has_few_rows(call)) return few_rows;
#if LOCUS_CBLAS
  if (library_takes(call)) return library;
#endif
  if (is_faster_transposed(kernels, call))
    return fits_in_place(kernels, locus::cpu::detail::transposed(call)) ? transposed_in_place : transposed_tiles;
  if (is_narrow(kernels, call)) return narrow;
  if (is_faster_apart(kernels, call)) return apart;
  return fits_in_place(kernels, call) ? in_place : tiles;
}

}}}  // namespace locus::LOCUS_ABI::cpu::detail
