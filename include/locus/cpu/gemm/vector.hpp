#pragma once
// Products of a matrix with one vector or a few. They are bound by memory and read the matrix once, in order, unpacked.

#include <locus/cpu/gemm/few_rows.hpp>
#include <locus/cpu/gemm/strategy.hpp>

namespace locus { inline namespace LOCUS_ABI { namespace cpu::detail {

/// Rows of the matrix in a task: few enough to stay in the cache while all vectors are multiplied with them, and to
/// make at least `tasks` tasks, but no fewer than the kernels take at once.
[[nodiscard]] constexpr std::int64_t rows_per_task(std::int64_t rows, std::int64_t depth, std::int64_t at_once,
                                                   std::int64_t tasks) {
  const std::int64_t fitting = smaller<std::int64_t>(rows_together / (depth + 1), 256) / at_once;
  const std::int64_t share = tasks == 1 ? ceil_div(rows, at_once) : rows / (tasks * at_once);
  return locus::detail::within<std::int64_t>(share, 1, locus::detail::larger<std::int64_t>(fitting, 1)) * at_once;
}

/// Dot products of the rows of a matrix with vectors in order, by `kernels` of the matrix's element type; `columns`:
/// the columns of b are the vectors, or else the rows of a. Threads split the columns of b if there are enough: each
/// thread then reads the weights that it updated, which are in its cache.
template <class T, class Kernels>
void multiply_by_vectors(const Kernels& kernels, const GemmCall<T>& call, bool columns) {
  using R = compute_t<T>;
  constexpr bool converts = !std::is_same_v<T, R>;
  const MatrixRef<const T> matrix = columns ? call.a : transposed(call.b);
  const MatrixRef<const T> vectors = columns ? transposed(call.b) : call.a;
  const std::int64_t depth = matrix.cols, count = vectors.rows;
  const KernelSet<R>& set = *kernels_in_use<T>();
  DotProducts<R, T> all{matrix.data, matrix.row_stride, matrix.rows, depth, nullptr, 0, count, nullptr, 0, 0, false};
  const bool plain = !converts && call.plain;  // sums may be stored to c
  if constexpr (!converts) {
    all.vectors = vectors.data, all.vector_stride = vectors.row_stride;
    all.out = call.c.data, all.accumulate = call.accumulates;
    all.out_row = columns ? call.c.row_stride : call.c.col_stride;
    all.out_vector = columns ? call.c.col_stride : call.c.row_stride;
  }
  if (converts || vectors.col_stride != 1) {
    const std::int64_t stride = round_up(depth, set.lanes);
    R* const copy = of_this_thread<GemmScratch>().right.template reserve<R>(count * stride);
    if constexpr (converts) convert_matrix<T>(vectors, copy, stride);
    else copy_across<T>(vectors, {copy, count, depth, stride, 1});
    all.vectors = copy, all.vector_stride = stride;
  }
  const double work = work_by_vectors(call.c, depth, count);
  const std::int64_t tasks = tasks_for(work), threads = threads_for(work);
  if (plain && tasks == 1 && matrix.rows * depth <= rows_together) return kernels.multiply_vectors(all, 0, matrix.rows);
  const bool shares_vectors = columns && threads > 1 && count >= fewest_for_thread * threads &&
                              matrix.rows * depth <= most_read_by_all && can_cut(call.c, fewest_for_thread);
  const std::int64_t group = shares_vectors ? round_up(ceil_div(count, threads), fewest_for_thread) : count;
  const std::int64_t groups = ceil_div(count, group), at_once = set.masks && count > 1 ? 4 : 8;
  const std::int64_t part = rows_per_task(matrix.rows, depth, at_once, ceil_div(tasks, groups));
  const std::int64_t parts = ceil_div(matrix.rows, part);
  const auto multiply = [&](std::int64_t task) {
    const std::int64_t first = task % parts * part, end = smaller(first + part, matrix.rows), rows = end - first;
    const std::int64_t vector = task / parts * group;
    DotProducts<R, T> one = all;
    one.count = smaller(group, count - vector);
    one.vectors += vector * all.vector_stride;
    if (plain) {
      one.out += vector * all.out_vector;
      return kernels.multiply_vectors(one, first, end);
    }
    one.matrix += first * matrix.row_stride;
    one.out = of_this_thread<GemmScratch>().sums.template reserve<R>(part * group);
    one.out_row = columns ? group : 1, one.out_vector = columns ? 1 : part;
    one.accumulate = false;
    kernels.multiply_vectors(one, 0, rows);
    if (columns) call.finish(call, {one.out, group, first, vector, rows, one.count});
    else call.finish(call, {one.out, part, vector, first, one.count, rows});
  };
  if (tasks > 1) return parallel_for(groups * parts, multiply);
  for (std::int64_t i = 0; i < groups * parts; ++i) multiply(i);
}

}}}  // namespace locus::LOCUS_ABI::cpu::detail
