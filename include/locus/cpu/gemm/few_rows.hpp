#pragma once
// Products of a few rows with a weight whose rows lie along the depth, y = x W: the weight is read once, unpacked.

#include <locus/core/std/bounds.hpp>
#include <locus/cpu/gemm/few_rows_kernels.hpp>
#include <locus/cpu/gemm/strategy.hpp>

namespace locus { inline namespace LOCUS_ABI { namespace cpu::detail {

/// How the weight is cut into tasks, by its shape alone: a task reads some of its rows, which lie one after the other
/// in memory, and of very long rows a part. The sums over the depth of a column come from several tasks, and are added
/// in order, so that the number of threads changes no bit of the result.
struct WeightCut {
  std::int64_t cols, col_parts, depth, depth_parts;

  WeightCut(std::int64_t weight_depth, std::int64_t weight_cols) {
    col_parts = ceil_div(weight_cols, weight_columns);
    cols = round_up(ceil_div(weight_cols, col_parts), 64);
    col_parts = ceil_div(weight_cols, cols);
    const std::int64_t most = locus::detail::larger<std::int64_t>(weight_depth / fewest_weight_rows, 1);
    const std::int64_t wanted = weight_depth * weight_cols / (col_parts * weight_task);
    depth_parts = locus::detail::within<std::int64_t>(wanted, 1, most);
    depth = round_up(ceil_div(weight_depth, depth_parts), 4);
    depth_parts = ceil_div(weight_depth, depth);
  }
};

/// Calls f for every task, on threads if these share the product.
template <class F>
void for_each_task(bool shares, std::int64_t tasks, const F& f) {
  if (shares) return parallel_for(tasks, f);
  for (std::int64_t task = 0; task < tasks; ++task) f(task);
}

/// The rows of a as dense rows of register elements: in place, or a copy in scratch memory.
template <class T>
[[nodiscard]] MatrixRef<const compute_t<T>> dense_rows(const MatrixRef<const T>& a, Scratch& scratch) {
  using R = compute_t<T>;
  if constexpr (std::is_same_v<T, R>)
    if (a.col_stride == 1) return a;
  R* const copy = scratch.template reserve<R>(a.rows * a.cols);
  convert_matrix<T>(a, copy, a.cols);
  return {copy, a.rows, a.cols, a.cols, 1};
}

/// Whether one row of the weight after the other is faster: a weight of float or double in memory, whose rows follow
/// each other, times a single row whose sums are short.
template <class T>
[[nodiscard]] bool reads_in_order(const GemmCall<T>& call) {
  constexpr auto size = static_cast<std::int64_t>(sizeof(T));
  return std::is_same_v<T, compute_t<T>> && call.c.rows == 1 && call.b.row_stride == call.c.cols &&
         call.c.cols * size <= short_sums && call.a.cols * call.c.cols * size > cached_matrix;
}

/// A product that satisfies has_few_rows.
template <class T>
[[gnu::noinline]] void multiply_few_rows(const GemmCall<T>& call) {
  using R = compute_t<T>;
  const std::int64_t rows = call.c.rows, cols = call.c.cols;
  const auto& kernels = few_row_kernels<T>(*kernels_in_use<T>());
  const WeightCut cut(call.a.cols, cols);
  GemmScratch& scratch = of_this_thread<GemmScratch>();
  const auto left = dense_rows<T>(call.a, scratch.left);
  const std::int64_t stride = round_up(cols, 16), part = rows * stride;
  R* const sums = scratch.sums.template reserve<R>(cut.depth_parts * part);
  const bool in_order = reads_in_order(call), shares = threads_for(work_by_vectors(call.c, call.a.cols, rows)) > 1;
  for_each_task(shares, cut.depth_parts * cut.col_parts, [&](std::int64_t task) {
    const std::int64_t first = task / cut.col_parts * cut.depth, col = task % cut.col_parts * cut.cols;
    const std::int64_t depth = smaller(cut.depth, call.a.cols - first), width = smaller(cut.cols, cols - col);
    R* const to = sums + task / cut.col_parts * part + col;
    for (std::int64_t i = 0; i < rows; ++i)
      __builtin_memset(to + i * stride, 0, static_cast<std::size_t>(width) * sizeof(R));
    kernels.add_rows({call.b.data + first * call.b.row_stride + col, call.b.row_stride, depth, width, left.data + first,
                      left.row_stride, rows, to, stride, in_order});
  });
  for_each_task(shares, ceil_div(cols, finished_columns), [&](std::int64_t task) {
    const std::int64_t col = task * finished_columns, width = smaller(finished_columns, cols - col);
    for (std::int64_t i = 1; i < cut.depth_parts; ++i)
      kernels_in_use<T>()->copy_rows({sums + i * part + col, stride, sums + col, stride, rows, width, true});
    call.finish(call, {sums + col, stride, 0, col, rows, width});
  });
}

}}}  // namespace locus::LOCUS_ABI::cpu::detail
