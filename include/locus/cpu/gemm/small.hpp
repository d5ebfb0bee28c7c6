#pragma once
// Products of a few numbers.

#include <locus/core/std/bounds.hpp>
#include <locus/cpu/gemm/tiles.hpp>

namespace locus { inline namespace LOCUS_ABI { namespace cpu::detail {

/// c (+)= a b, tile by tile, with the operands in place.
template <class T>
void multiply_few_tiles(const KernelSet<T>& kernels, const GemmCall<T>& call) {
  TileProduct<T> product{call.a.cols,       call.a.data,       call.a.row_stride, call.a.col_stride,
                         call.b.row_stride, call.c.row_stride, call.accumulates};
  const std::int64_t n = call.c.cols;
  T* out = call.c.data;
  for (std::int64_t left = call.c.rows, rows = 0; left > 0; left -= rows) {
    rows = left == 1 ? 1 : smaller<std::int64_t>(left & -2, kernels.max_rows);
    if (n <= kernels.lanes) {
      narrow_tile(kernels, rows, product)(product, call.b.data, out, n);
    } else {
      for (std::int64_t col = 0, width = 0; col < n; col += width) {
        const Strip<T> strip = strip_at(kernels, n - col, rows, true);
        width = strip.width;
        strip.multiply(product, call.b.data + col, strip.tile_width, out + col, width);
      }
    }
    product.left += rows * call.a.row_stride;
    out += rows * call.c.row_stride;
  }
}
/// c (+)= a b, one number after the other, along the longer side of c.
template <class T>
void multiply_numbers(const GemmCall<T>& call) {
  const bool by_columns = call.c.cols < call.c.rows;
  const MatrixRef<const T> left = by_columns ? transposed(call.b) : call.a,
                           right = by_columns ? transposed(call.a) : call.b;
  const MatrixRef<T> c = by_columns ? transposed(call.c) : call.c;
  const bool adds = call.accumulates;
  for (std::int64_t i = 0; i < c.rows; ++i) {
    const T* const row = left.data + i * left.row_stride;
    const T* column = right.data;
    T* out = c.data + i * c.row_stride;
    for (std::int64_t j = c.cols; j > 0; --j, column += right.col_stride, out += c.col_stride) {
      T sum = 0;
      for (std::int64_t k = 0; k < left.cols; ++k) sum += row[k * left.col_stride] * column[k * right.row_stride];
      *out = adds ? *out + sum : sum;
    }
  }
}

}}}  // namespace locus::LOCUS_ABI::cpu::detail
