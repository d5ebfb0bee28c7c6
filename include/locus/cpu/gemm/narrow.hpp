#pragma once
// Products whose rows fill half a vector at most: half a vector takes half the time of a whole one.

#include <locus/core/bounds.hpp>
#include <locus/cpu/gemm/tiles.hpp>

namespace locus::inline LOCUS_ABI {
namespace cpu::detail {

/// Whether all of c is as narrow as the kernel for that wants it, and nothing is added to what is there. A column is
/// better computed as a row, where a allows it.
template <class T>
[[nodiscard]] bool is_narrow(const KernelSet<T>& kernels, const GemmCall<T>& call) {
  if (call.c.cols == 1 && call.a.row_stride == 1) return false;
  return kernels.multiply_narrow && call.plain && !call.accumulates && 2 * call.c.cols <= kernels.lanes &&
         call.c.rows >= kernels.least_narrow_rows && call.a.cols <= direct_depth && call.c.col_stride == 1;
}
/// About the cycles that it takes.
template <class T>
[[nodiscard]] std::int64_t narrow_cycles(const GemmCall<T>& call) {
  const std::int64_t k = call.a.cols, packed = call.b.col_stride == 1 ? 0 : call.c.cols * k;
  return call.c.rows * (2 * k / 3 + 4) + packed;
}

/// A product with few columns, the rows of which threads share; false, and nothing done, where that cannot be.
template <class T>
[[nodiscard]] bool multiply_narrow(const GemmCall<T>& call) {
  const KernelSet<T>& kernels = *kernels_in_use<T>();
  if (!is_narrow(kernels, call)) return false;
  const std::int64_t rows = call.c.rows, depth = call.a.cols;
  MatrixRef<const T> b = call.b;
  if (b.col_stride != 1) {
    T* const packed = of_this_thread<GemmScratch>().right.template reserve<T>(depth * call.c.cols);
    copy_across<T>(transposed(b), {packed, call.c.cols, depth, 1, call.c.cols});
    b = {packed, depth, call.c.cols, call.c.cols, 1};
  }
  const auto multiply_rows = [&](std::int64_t first, std::int64_t end) {
    const TileProduct<T> product{depth,
                                 call.a.data + first * call.a.row_stride,
                                 call.a.row_stride,
                                 call.a.col_stride,
                                 b.row_stride,
                                 call.c.row_stride,
                                 false};
    kernels.multiply_narrow(product, b.data, call.c.data + first * call.c.row_stride, end - first, call.c.cols);
  };
  const std::int64_t tasks = smaller(tasks_for(work_of(call.c, depth)), rows / kernels.least_narrow_rows);
  if (tasks == 1) multiply_rows(0, rows);
  else parallel_for(tasks, [&](std::int64_t task) { multiply_rows(rows * task / tasks, rows * (task + 1) / tasks); });
  return true;
}

}  // namespace cpu::detail
}  // namespace locus::inline LOCUS_ABI
