#pragma once
// A matrix product as its kernels see it: tiles of c, in panels of rows and strips of columns.

#include <locus/core/std/bounds.hpp>
#include <locus/cpu/gemm/pack.hpp>
#include <locus/cpu/threads/parallel.hpp>
#include <locus/cpu/tuning.hpp>
#include <locus/device/verbs.hpp>

namespace locus { inline namespace LOCUS_ABI { namespace cpu::detail {

/// A part of the finished sums: its element (i, j) belongs to c(row + i, col + j). May be overwritten.
template <class R>
struct SumTile {
  R* data;
  std::int64_t stride;
  std::int64_t row, col, rows, cols;
};

/// A product whose epilogue is known only as a function on tiles, so that all epilogues share the code below.
template <class T>
struct GemmCall {
  MatrixRef<const T> a, b;
  MatrixRef<T> c;
  bool accumulates;  ///< the previous c is read
  bool plain;        ///< c (+)= sum, nothing else
  void (*finish)(const GemmCall&, const SumTile<compute_t<T>>&);
  const void* epilogue;
};

template <class T>
[[nodiscard]] MatrixRef<T> transposed(const MatrixRef<T>& x) {
  return {x.data, x.cols, x.rows, x.col_stride, x.row_stride};
}

template <class T>
[[nodiscard]] MatrixRef<T> columns_of(MatrixRef<T> x, std::int64_t first, std::int64_t cols) {
  return {x.data + first * x.col_stride, x.rows, cols, x.row_stride, x.col_stride};
}

/// Whether the product's transpose writes the same numbers along rows of memory.
template <class T>
[[nodiscard]] bool is_transposed(const GemmCall<T>& call) {
  if (!call.plain || call.c.rows == 1 || call.c.row_stride != 1) return false;
  return call.c.col_stride != 1 || call.c.cols == 1;
}

/// The product that computes the transpose of c.
template <class T>
[[nodiscard]] GemmCall<T> transposed(const GemmCall<T>& call) {
  GemmCall<T> exchanged = call;
  exchanged.a = transposed(call.b);
  exchanged.b = transposed(call.a);
  exchanged.c = transposed(call.c);
  return exchanged;
}

/// Multiply-adds of a product.
template <class T>
[[nodiscard]] double work_of(const MatrixRef<T>& c, std::int64_t depth) {
  return static_cast<double>(c.rows) * static_cast<double>(c.cols) * static_cast<double>(depth);
}

/// The same, as threads see it, of products that are bound by memory: they take no less time for a row than for four.
template <class T>
[[nodiscard]] double work_by_vectors(const MatrixRef<T>& c, std::int64_t depth, std::int64_t vectors) {
  return work_of(c, depth) * (vectors < 4 ? 4 / static_cast<double>(vectors) : 1);
}

/// Threads that share `work` multiply-adds.
[[nodiscard]] inline std::int64_t threads_for(double work) {
  if (work < shared_work) return 1;
  const int threads = max_threads();
  return work / thread_work < threads ? static_cast<std::int64_t>(work / thread_work) : threads;
}
/// Tasks for these threads, if work is cheap to cut finer: more tasks than threads balance the load.
[[nodiscard]] inline std::int64_t tasks_for(double work) {
  const std::int64_t threads = threads_for(work), most = threads * ranges_per_thread;
  if (threads == 1) return 1;
  return work / task_work < static_cast<double>(most) ? static_cast<std::int64_t>(work / task_work) : most;
}

struct Range {
  std::int64_t begin, end;
  [[nodiscard]] constexpr std::int64_t size() const { return end - begin; }
};

[[nodiscard]] constexpr std::int64_t ceil_div(std::int64_t x, std::int64_t y) { return (x + y - 1) / y; }
/// To a multiple of y, a power of two.
[[nodiscard]] constexpr std::int64_t round_up(std::int64_t x, std::int64_t y) { return (x + y - 1) & -y; }

/// Rows computed together: 1 or an even number of them. The first `done` were computed before and are dropped.
struct RowPanel {
  std::int64_t first, rows, done;
};

/// Cuts rows into panels as equal in height as can be.
class RowPanels {
 public:
  RowPanels(Range rows, std::int64_t max_rows) : rows_(rows), low_((rows.size() + 1) / 2) {
    if (rows.size() > max_rows) count_ = ceil_div(rows.size(), max_rows);
    // An odd row is computed with the row before it, so there has to be one before.
    else if (rows.size() > 1 && rows.size() % 2 == 1) count_ = 2;
    if (count_ == 1) return;
    higher_ = low_ % count_;
    low_ /= count_;
  }
  [[nodiscard]] std::int64_t count() const { return count_; }
  /// Panels of the same height, counted from `index`, the first of them.
  [[nodiscard]] std::int64_t alike(std::int64_t index) const { return index < higher_ ? higher_ : count_ - index; }
  /// The panel with this index, which begins at row `row`, the end of the panel before it.
  [[nodiscard]] RowPanel at(std::int64_t index, std::int64_t row) const {
    if (rows_.size() == 1) return {row, 1, 0};
    const std::int64_t height = 2 * (low_ + (index < higher_ ? 1 : 0)), overlap = row + height > rows_.end ? 1 : 0;
    return {row - overlap, height, overlap};
  }

 private:
  Range rows_;
  std::int64_t count_ = 1, low_, higher_ = 0;  // the first `higher_` panels have one more pair of rows than `low_`
};

/// c (+)= the sums, where the columns of c are dense.
template <class T>
void store_columns(const GemmCall<T>& call, const SumTile<T>& tile) {
  const MatrixRef<T>& c = call.c;
  T* const to = c.data + tile.row + tile.col * c.col_stride;
  if (!call.accumulates)
    return copy_across<T>({tile.data, tile.rows, tile.cols, tile.stride, 1},
                          {to, tile.rows, tile.cols, 1, c.col_stride});
  for (std::int64_t j = 0; j < tile.cols; ++j)
    for (std::int64_t i = 0; i < tile.rows; ++i) to[i + j * c.col_stride] += tile.data[i * tile.stride + j];
}

/// Tiles side by side that the same kernel computes.
template <class R>
struct Strip {
  std::int64_t width;       ///< of all tiles
  std::int64_t tile_width;  ///< the last tile may be narrower
  Tile<R> tile;

  /// `next`: distance between the right operands of neighbouring tiles.
  [[gnu::noinline]] void multiply(const TileProduct<R>& product, const R* right, std::int64_t next, R* out,
                                  std::int64_t cols) const {
    for (; cols > 0; cols -= tile_width, right += next, out += tile_width)
      tile(product, right, out, cols < tile_width ? cols : tile_width);
  }
};

/// The strip of a panel of `rows` rows that begins `left` columns from the right edge.
template <class R>
[[nodiscard]] Strip<R> strip_at(const KernelSet<R>& kernels, std::int64_t left, std::int64_t rows, bool in_place) {
  const std::int64_t tile_cols = 2 * kernels.lanes, rest = left & (tile_cols - 1);
  if (rows <= 2 && in_place)
    if (const std::int64_t wide = 4 * tile_cols >> (rows - 1); left >= wide)
      return {left & -wide, wide, kernels.wide_tile[rows / 2]};
  if (left <= kernels.lanes) return {left, kernels.lanes, kernels.tile[0][rows / 2]};
  const bool joins = rest > kernels.lanes && (kernels.masks || left < tile_cols);
  const std::int64_t together = in_place ? 1 : kernels.tiles_together;
  return {joins ? left : left - rest, tile_cols * together, kernels.tile[1][rows / 2]};
}

/// In sets with masks: the tile of one vector for `rows` rows; for few rows and a long depth, a tile that sums in
/// turns.
template <class R>
[[nodiscard]] Tile<R> narrow_tile(const KernelSet<R>& kernels, std::int64_t rows, const TileProduct<R>& product) {
  constexpr std::int64_t long_depth = 16;
  // Not (turns ? ... : ...)[rows / 2], in which g++ 12 with -fsanitize=bounds takes a wrong index.
  if (rows <= 2 && product.depth >= long_depth) return kernels.turning_tile[rows / 2];
  return kernels.tile[0][rows / 2];
}

/// Whether c can be cut at multiples of `columns` columns without false sharing of cache lines.
template <class T>
[[nodiscard]] bool can_cut(const MatrixRef<T>& c, std::int64_t columns) {
  constexpr std::int64_t line = 64 / static_cast<std::int64_t>(sizeof(T));
  return columns % line == 0 && c.row_stride % line == 0 && reinterpret_cast<std::uintptr_t>(c.data) % 64 == 0;
}

/// Whether the row stride is a multiple of `bytes` bytes, give or take a cache line.
template <class T>
[[nodiscard]] bool are_apart(const MatrixRef<T>& rows, std::int64_t bytes) {
  constexpr std::int64_t line = 64;
  const std::int64_t apart = rows.row_stride * static_cast<std::int64_t>(sizeof(T));
  return rows.col_stride == 1 && apart > line && (apart + line) % bytes <= 2 * line;
}
/// Rows of a that a tile may read without packing. An L1 cache of 32 KiB is 8-way associative (one of 48 KiB 12-way):
/// with more rows whose stride is a multiple of 4 KiB, every access is a conflict miss.
template <class T>
[[nodiscard]] int rows_in_place(const KernelSet<T>& kernels, const MatrixRef<const T>& a) {
  return are_apart(a, 4096) ? smaller(8, kernels.max_rows) : kernels.max_rows;
}

}}}  // namespace locus::LOCUS_ABI::cpu::detail
