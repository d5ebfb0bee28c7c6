#pragma once
// Products with one vector or a few, which read the elements of the matrix in order: nothing to pack, nothing to keep
// in tiles.

#include <locus/cpu/gemm/narrow.hpp>
#include <locus/cpu/gemm/tiles.hpp>

namespace locus::inline LOCUS_ABI {
namespace cpu::detail {

inline constexpr std::int64_t most_apart = 4;              // columns multiplied apart from those of whole registers
inline constexpr std::int64_t most_read_twice = 1 << 18;   // elements of a, then
inline constexpr std::int64_t rows_together = 1 << 16;     // elements of a matrix that meet one vector after the other
inline constexpr std::int64_t few_vectors = 16;            // of any depth; more are read again for every few rows,
inline constexpr std::int64_t most_read_again = 1 << 21;   // and have so many elements at most
inline constexpr std::int64_t fewest_for_thread = 16;      // vectors, where each thread reads the whole matrix,
inline constexpr std::int64_t most_read_by_all = 1 << 17;  // and elements of that, which then stay in its cache

/// What to multiply as rows of a matrix times a few vectors, both contiguous along the depth.
enum class Vectors { none, columns_of_b, rows_of_a };

/// Vector registers for so many elements; lanes are a power of two.
[[nodiscard]] constexpr std::int64_t registers_for(std::int64_t elements, int lanes) {
  return (elements + lanes - 1) >> __builtin_ctz(static_cast<unsigned>(lanes));
}

/// What is faster to multiply so than by tiles, by an estimate of the cycles that each takes.
template <class T>
[[nodiscard]] Vectors find_vectors(const GemmCall<T>& call) {
  const KernelSet<T>& kernels = *kernels_in_use<T>();
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
  // Tiles compute the transpose where that is dense along rows. Of few rows and one register, each sum in them waits
  // for the one before it.
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

/// Rows of a matrix that are a task: they stay in the cache while all vectors are multiplied with them. There are at
/// least `tasks` of these, unless each would be fewer rows than the kernels do at once.
[[nodiscard]] constexpr std::int64_t rows_per_task(std::int64_t rows, std::int64_t depth, std::int64_t at_once,
                                                   std::int64_t tasks) {
  const std::int64_t fitting = smaller<std::int64_t>(rows_together / (depth + 1), 256) / at_once;
  const std::int64_t share = tasks == 1 ? ceil_div(rows, at_once) : rows / (tasks * at_once);
  return locus::detail::within<std::int64_t>(share, 1, locus::detail::larger<std::int64_t>(fitting, 1)) * at_once;
}

/// The matrix, the vectors, and where c takes their products: as columns, or as rows. Threads share the columns of b,
/// where there are enough: as weights, these come from where the same thread has updated them.
template <class T>
void multiply_by_vectors(const GemmCall<T>& call, bool columns) {
  const KernelSet<T>& kernels = *kernels_in_use<T>();
  const MatrixRef<const T> matrix = columns ? call.a : transposed(call.b);
  const MatrixRef<const T> vectors = columns ? transposed(call.b) : call.a;
  const std::int64_t depth = matrix.cols, count = vectors.rows;
  DotProducts<T> all{matrix.data,
                     matrix.row_stride,
                     matrix.rows,
                     depth,
                     vectors.data,
                     vectors.row_stride,
                     count,
                     call.c.data,
                     columns ? call.c.row_stride : call.c.col_stride,
                     columns ? call.c.col_stride : call.c.row_stride,
                     call.accumulates};
  if (vectors.col_stride != 1) {
    const std::int64_t stride = round_up(depth, kernels.lanes);
    T* const copy = of_this_thread<GemmScratch>().right.template reserve<T>(count * stride);
    copy_across<T>(vectors, {copy, count, depth, stride, 1});
    all.vectors = copy, all.vector_stride = stride;
  }
  const double work = work_of(call.c, depth);
  const std::int64_t tasks = tasks_for(work), threads = threads_for(work);
  if (call.plain && tasks == 1 && matrix.rows * depth <= rows_together)
    return kernels.multiply_vectors(all, 0, matrix.rows);
  const bool shares_vectors = columns && threads > 1 && count >= fewest_for_thread * threads &&
                              matrix.rows * depth <= most_read_by_all && can_cut(call.c, fewest_for_thread);
  const std::int64_t group = shares_vectors ? round_up(ceil_div(count, threads), fewest_for_thread) : count;
  const std::int64_t groups = ceil_div(count, group), at_once = kernels.masks && count > 1 ? 4 : 8;
  const std::int64_t part = rows_per_task(matrix.rows, depth, at_once, ceil_div(tasks, groups));
  const std::int64_t parts = ceil_div(matrix.rows, part);
  const auto multiply = [&](std::int64_t task) {
    const std::int64_t first = task % parts * part, end = smaller(first + part, matrix.rows), rows = end - first;
    const std::int64_t vector = task / parts * group;
    DotProducts<T> one = all;
    one.count = smaller(group, count - vector);
    one.vectors += vector * all.vector_stride, one.out += vector * all.out_vector;
    if (call.plain) return kernels.multiply_vectors(one, first, end);
    one.matrix += first * matrix.row_stride;
    one.out = of_this_thread<GemmScratch>().sums.template reserve<T>(part * group);
    one.out_row = columns ? group : 1, one.out_vector = columns ? 1 : part;
    one.accumulate = false;
    kernels.multiply_vectors(one, 0, rows);
    if (columns) call.finish(call, {one.out, group, first, vector, rows, one.count});
    else call.finish(call, {one.out, part, vector, first, one.count, rows});
  };
  if (tasks > 1) return parallel_for(groups * parts, multiply);
  for (std::int64_t i = 0; i < groups * parts; ++i) multiply(i);
}

/// Whether the transpose of c, whose elements lie apart in memory, is faster to compute than c, because that has few
/// columns: by an estimate of the cycles.
template <class T>
[[nodiscard]] bool is_faster_transposed(const GemmCall<T>& call) {
  const std::int64_t m = call.c.rows, n = call.c.cols, k = call.a.cols;
  const KernelSet<T>& kernels = *kernels_in_use<T>();
  const int lanes = kernels.lanes;
  if (!call.plain || call.a.row_stride != 1 || n >= std::int64_t{2} * lanes) return false;
  const std::int64_t by_rows = is_narrow(kernels, call) ? narrow_cycles(call) : m * registers_for(n, lanes) * k + 6 * m;
  return n * registers_for(m, lanes) * k + 2 * m * n < by_rows;
}

}  // namespace cpu::detail
}  // namespace locus::inline LOCUS_ABI
