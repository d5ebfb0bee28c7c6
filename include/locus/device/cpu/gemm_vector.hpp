#pragma once
// Products with one vector or a few, which read the elements of the matrix in order: nothing to pack, nothing to keep
// in tiles.

#include <locus/device/cpu/gemm_product.hpp>

namespace locus::inline LOCUS_ABI {
namespace cpu::detail {

/// For so many vectors, each a pass over the matrix, passes are faster than tiles.
inline constexpr std::int64_t most_vectors = 4;

/// True where one operand is a few rows or columns and the other has its depth contiguous.
template <class T>
[[nodiscard]] bool is_vector_product(const GemmCall<T>& call) {
  const bool is_deep = call.a.cols >= 4 * kernels_in_use<T>()->lanes;
  const auto are_few = [&](std::int64_t vectors, std::int64_t stride, std::int64_t rows) {
    if (vectors == 1 || !is_deep) return vectors == 1;
    return vectors <= (stride == 1 ? most_vectors : rows >= 32 ? most_vectors - 1 : 1);  // others have to be copied
  };
  return (call.a.col_stride == 1 && are_few(call.c.cols, call.b.row_stride, call.c.rows)) ||
         (call.b.row_stride == 1 && are_few(call.c.rows, call.a.col_stride, call.c.cols));
}

template <class T>
[[nodiscard]] MatrixRef<T> transposed(const MatrixRef<T>& x) {
  return {x.data, x.cols, x.rows, x.col_stride, x.row_stride};
}

/// True, and the operands exchanged, where the product's transpose writes the same numbers along rows of memory.
template <class T>
bool exchange_operands(GemmCall<T>& call) {
  if (!call.plain || call.c.rows == 1 || call.c.row_stride != 1) return false;
  if (call.c.col_stride == 1 && call.c.cols != 1) return false;
  const auto left = call.a;
  call.a = transposed(call.b);
  call.b = transposed(left);
  call.c = transposed(call.c);
  return true;
}

/// c(row + i, col) (+)= sums[i]
template <class T>
void store_column(const GemmCall<T>& call, const T* sums, std::int64_t row, std::int64_t rows, std::int64_t col) {
  T* const c = call.c.data + row * call.c.row_stride + col * call.c.col_stride;
  const std::int64_t stride = call.c.row_stride;
  if (call.accumulates)
    for (std::int64_t i = 0; i < rows; ++i) c[i * stride] += sums[i];
  else
    for (std::int64_t i = 0; i < rows; ++i) c[i * stride] = sums[i];
}

/// The matrix, the vectors, and where c takes their products: as columns, or as rows.
template <class T>
void multiply_by_vectors(const GemmCall<T>& call) {
  const KernelSet<T>& kernels = *kernels_in_use<T>();
  const bool columns = call.a.col_stride == 1 && call.c.cols <= most_vectors && call.c.cols <= call.c.rows;
  const MatrixRef<const T> matrix = columns ? call.a : transposed(call.b);
  const MatrixRef<const T> vectors = columns ? transposed(call.b) : call.a;
  const std::int64_t depth = matrix.cols, part = 256, parts = ceil_div(matrix.rows, part);
  const T* packed = nullptr;
  if (vectors.col_stride != 1) {
    T* const copy = of_this_thread<GemmScratch>().right.template reserve<T>(vectors.rows * depth);
    for (std::int64_t v = 0; v < vectors.rows; ++v)
      for (std::int64_t k = 0; k < depth; ++k)
        copy[v * depth + k] = vectors.data[v * vectors.row_stride + k * vectors.col_stride];
    packed = copy;
  }
  const auto multiply = [&](std::int64_t task) {
    const std::int64_t first = task * part, count = smaller(part, matrix.rows - first);
    T* const sums = of_this_thread<GemmScratch>().sums.template reserve<T>(part);
    for (std::int64_t v = 0; v < vectors.rows; ++v) {
      kernels.multiply_vector({matrix.data + first * matrix.row_stride, matrix.row_stride, count, depth,
                               packed ? packed + v * depth : vectors.data + v * vectors.row_stride, sums});
      if (columns && call.plain) store_column(call, sums, first, count, v);
      else if (columns) call.finish(call, {sums, 1, first, v, count, 1});
      else call.finish(call, {sums, 0, v, first, 1, count});
    }
  };
  if (work_of(call.c, depth) >= shared_work) return parallel_for(parts, multiply);
  for (std::int64_t i = 0; i < parts; ++i) multiply(i);
}

}  // namespace cpu::detail
}  // namespace locus::inline LOCUS_ABI
