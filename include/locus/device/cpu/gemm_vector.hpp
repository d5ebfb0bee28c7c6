#pragma once
// Products with a vector, which read every element of the matrix once: nothing to pack, nothing to keep in tiles.

#include <locus/device/cpu/gemm_product.hpp>

namespace locus::inline LOCUS_ABI {
namespace cpu::detail {

/// True where one operand is a single row or column and the other has its depth contiguous.
template <class T>
[[nodiscard]] bool is_vector_product(const GemmCall<T>& call) {
  return (call.c.cols == 1 && call.a.col_stride == 1) || (call.c.rows == 1 && call.b.row_stride == 1);
}

template <class T>
void multiply_by_vector(const GemmCall<T>& call) {
  const KernelSet<T>& kernels = *kernels_in_use<T>();
  const bool right = call.c.cols == 1 && call.a.col_stride == 1;  // the vector stands on the right
  const std::int64_t depth = call.a.cols, rows = right ? call.c.rows : call.c.cols;
  const T* const matrix = right ? call.a.data : call.b.data;
  const std::int64_t row_stride = right ? call.a.row_stride : call.b.col_stride;
  const T* vector = right ? call.b.data : call.a.data;
  const std::int64_t vector_stride = right ? call.b.row_stride : call.a.col_stride;
  if (vector_stride != 1) {
    T* const packed = of_this_thread<GemmScratch>().right.template reserve<T>(depth);
    for (std::int64_t k = 0; k < depth; ++k) packed[k] = vector[k * vector_stride];
    vector = packed;
  }
  const std::int64_t part = 256, parts = ceil_div(rows, part);
  const auto multiply = [&](std::int64_t i) {
    const std::int64_t first = i * part, count = smaller(part, rows - first);
    T* const sums = of_this_thread<GemmScratch>().sums.template reserve<T>(part);
    kernels.multiply_vector({matrix + first * row_stride, row_stride, count, depth, vector, sums});
    if (right) call.finish(call, {sums, 1, first, 0, count, 1});
    else call.finish(call, {sums, 0, 0, first, 1, count});
  };
  if (work_of(call.c, depth) >= shared_work) return parallel_for(parts, multiply);
  for (std::int64_t i = 0; i < parts; ++i) multiply(i);
}

}  // namespace cpu::detail
}  // namespace locus::inline LOCUS_ABI
