#pragma once
// Small matrix products that read their operands and write c in place, without packing.

#include <locus/core/std/bounds.hpp>
#include <locus/cpu/gemm/strategy.hpp>

namespace locus { inline namespace LOCUS_ABI { namespace cpu::detail {

/// Panels of the same height, one after the other; the last one ends where the matrix does.
struct EqualPanels {
  std::int64_t first_row, count, rows;
};

/// Multiplies the columns of a strip, beginning at `col`. With `sums`, a scratch tile, stores it to a column-major c.
template <class T>
void multiply_in_place(const GemmCall<T>& call, const Strip<T>& strip, std::int64_t col, const EqualPanels& panels,
                       TileProduct<T>& product, T* sums) {
  const MatrixRef<T>& c = call.c;
  for (const std::int64_t end = col + strip.width; col < end; col += strip.tile_width) {
    const std::int64_t cols = smaller(strip.tile_width, end - col);
    for (std::int64_t i = 0; i < panels.count; ++i) {
      const std::int64_t row = smaller(panels.first_row + i * panels.rows, c.rows - panels.rows);
      product.left = call.a.data + row * call.a.row_stride;
      strip.tile(product, call.b.data + col, sums ? sums : c.data + row * c.row_stride + col, cols);
      if (sums) store_columns<T>(call, {sums, product.out_stride, row, col, panels.rows, cols});
    }
  }
}

/// A small product without packing; the call must satisfy fits_in_place.
template <class T>
void multiply_in_place(const KernelSet<T>& kernels, const GemmCall<T>& call) {
  const std::int64_t m = call.c.rows, n = call.c.cols, k = call.a.cols;
  const bool by_rows = call.c.col_stride == 1;
  const double work = work_of(call.c, k);
  TileProduct<T> product{k, nullptr, call.a.row_stride, call.a.col_stride, call.b.row_stride, call.c.row_stride, false};
  T* sums = nullptr;
  if (!by_rows) {
    product.out_stride = 8 * kernels.lanes;  // of the widest tile
    sums = of_this_thread<GemmScratch>().tile.template reserve<T>(kernels.max_rows * product.out_stride);
  }
  const auto multiply_panels = [&](const EqualPanels& panels) {
    for (std::int64_t col = 0, width = 0; col < n; col += width) {
      Strip<T> strip = strip_at(kernels, n - col, panels.rows, true);
      // Only for products that one thread computes: this tile sums in another order, and the result must not depend on
      // the number of threads.
      if (work < shared_work ? strip.width <= kernels.lanes : m <= 2 && n <= kernels.lanes)
        strip.tile = narrow_tile(kernels, panels.rows, product);
      width = strip.width;
      multiply_in_place(call, strip, col, panels, product, sums);
    }
  };
  // An odd last row: a wide tile for it alone costs less than a tile of two rows that repeats its neighbour.
  const std::int64_t even = n >= 8 * kernels.lanes ? m & -2 : m;
  if (even < m) multiply_panels({even, 1, 1});
  if (even == 0) return;
  const int most = rows_in_place(kernels, call.a);
  // Stores of one tile overlap with the next tile's multiply-adds; where stores dominate, lower tiles overlap more.
  // With a depth of 4 or less, two rows at a time, where more would conflict in the cache (4 KiB aliasing).
  const bool writes_much = n > kernels.lanes && k <= 32, mostly_writes = k <= 4 && are_apart(call.c, 2048);
  const RowPanels panels({0, even}, mostly_writes ? 2 : writes_much ? kernels.max_rows / 2 + 1 : most);
  for (std::int64_t i = 0, row = 0, count = 0; i < panels.count(); i += count) {
    const std::int64_t rows = panels.at(i, row).rows;
    multiply_panels({row, count = panels.alike(i), rows});
    row += count * rows;
  }
}

}}}  // namespace locus::LOCUS_ABI::cpu::detail
