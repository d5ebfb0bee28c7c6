#pragma once
// Products whose rows fill at most half a vector register, with registers of half the width, which are twice as fast.

#include <locus/core/std/bounds.hpp>
#include <locus/cpu/gemm/strategy.hpp>

namespace locus { inline namespace LOCUS_ABI { namespace cpu::detail {

/// A product that satisfies is_narrow. Threads share its rows.
template <class T>
void multiply_narrow(const KernelSet<T>& kernels, const GemmCall<T>& call) {
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
}

}}}  // namespace locus::LOCUS_ABI::cpu::detail
