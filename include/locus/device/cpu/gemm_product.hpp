#pragma once
// How a matrix product of floating-point numbers is cut into tiles, packed, and shared among threads.

#include <locus/core/bounds.hpp>
#include <locus/device/cpu/gemm_pack.hpp>
#include <locus/device/cpu/parallel.hpp>
#include <locus/device/verbs.hpp>

namespace locus::inline LOCUS_ABI {
namespace cpu::detail {

/// A part of the finished sums: element (i, j) of it belongs to c(row + i, col + j).
template <class R>
struct SumTile {
  const R* data;
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

/// Multiply-adds of a product.
template <class T>
[[nodiscard]] double work_of(const MatrixRef<T>& c, std::int64_t depth) {
  return static_cast<double>(c.rows) * static_cast<double>(c.cols) * static_cast<double>(depth);
}
inline constexpr double thread_work = 5e5;              // multiply-adds that are worth a thread
inline constexpr double shared_work = 2 * thread_work;  // and those that are worth sharing

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
    // An odd row is computed with the one before it, so there has to be one.
    else if (rows.size() > 1 && rows.size() % 2 == 1) count_ = 2;
    if (count_ == 1) return;
    higher_ = low_ % count_;
    low_ /= count_;
  }
  [[nodiscard]] std::int64_t count() const { return count_; }
  /// The panel with this index, which begins at this row, the end of the one before it.
  [[nodiscard]] RowPanel at(std::int64_t index, std::int64_t row) const {
    if (rows_.size() == 1) return {row, 1, 0};
    const std::int64_t height = 2 * (low_ + (index < higher_ ? 1 : 0)), overlap = row + height > rows_.end ? 1 : 0;
    return {row - overlap, height, overlap};
  }

 private:
  Range rows_;
  std::int64_t count_ = 1, low_, higher_ = 0;  // the first `higher_` panels have one more pair of rows than `low_`
};

/// The loops, from outside in: threads (a grid over c), blocks of columns, blocks of depth, panels of rows, tiles.
/// A block of b stays in the second-level cache, a panel of a in the first, a tile of c in registers. The depth is
/// cut at places that depend on the shape alone, and the sums over its blocks are added in order, so that neither the
/// number of threads nor the cut of rows and columns changes a bit of the result.
template <class T>
class Product {
  using R = compute_t<T>;
  static constexpr bool converts = !std::is_same_v<T, R>;

 public:
  explicit Product(const GemmCall<T>& call)
      : call_(call),
        kernels_(*kernels_in_use<R>()),
        tile_cols_(2 * kernels_.lanes),
        m_(call.c.rows),
        n_(call.c.cols),
        k_(call.a.cols) {
    static constexpr T zero{};
    if (k_ == 0) call_.a = {&zero, m_, 0, 0, 0}, call_.b = {&zero, 0, n_, 0, 0};
    const double work = work_of(call.c, k_);
    const std::int64_t most_right = m_ <= 4 * kernels_.max_rows ? 2 * direct_right : direct_right;
    const bool small = work <= direct_work || m_ <= kernels_.max_rows || k_ * n_ <= most_right;
    packs_right_ = converts || call_.b.col_stride != 1 || !small;
    packs_left_ = converts || (n_ > direct_columns && !small);
    const std::int64_t most_depth = packs_left_ ? 512 : 1024;
    depth_block_ = k_ <= most_depth ? k_ : ceil_div(k_, ceil_div(k_, most_depth));
    if constexpr (!converts) sums_in_c_ = call_.c.col_stride == 1 && (call_.plain || !call_.accumulates);
    choose_grid(work);
  }

  void run() const {
    if (grid_rows_ * grid_cols_ == 1) return compute_rows({0, m_}, {0, n_});
    parallel_for(grid_rows_ * grid_cols_, [this](std::int64_t task) {
      const std::int64_t row = task / grid_cols_, col = task % grid_cols_, tiles = ceil_div(n_, tile_cols_);
      const auto pairs_before = [this](std::int64_t part) { return (m_ + 1) / 2 * part / grid_rows_; };
      const Range rows{2 * pairs_before(row), smaller(m_, 2 * pairs_before(row + 1))};
      const Range cols{tiles * col / grid_cols_ * tile_cols_, smaller(n_, tiles * (col + 1) / grid_cols_ * tile_cols_)};
      compute_rows(rows, cols);
    });
  }

 private:
  static constexpr double direct_work = 8e6;                // multiply-adds below which packing does not pay
  static constexpr std::int64_t direct_columns = 128;       // columns below which packing a does not pay
  static constexpr std::int64_t direct_right = 1 << 19;     // elements of b below which four panels do not pay for it
  static constexpr std::int64_t cached_bytes = 1536 << 10;  // of b in the second-level cache
  static constexpr std::int64_t kept_rows = 1008;           // rows whose sums are kept apart at a time

  /// A block of the product in work: where its operands are packed and its sums are kept, and its place in the depth.
  struct Block {
    Range rows, cols, depth;
    R *left, *right, *sums;
    R* tile;  ///< room for one tile that does not fit where its sums belong
    std::int64_t sums_stride;
  };

  /// Sums that neither fit c nor are finished in one block of depth live in scratch memory.
  [[nodiscard]] bool keeps_sums() const { return !sums_in_c_ && depth_block_ < k_; }
  [[nodiscard]] bool reads_in_place(std::int64_t width) const { return !packs_right_ && fills_tile(width); }
  /// Whether a tile of this width need not be padded.
  [[nodiscard]] bool fills_tile(std::int64_t width) const { return kernels_.masks || width == padded(width); }
  [[nodiscard]] std::int64_t padded(std::int64_t width) const { return round_up(width, kernels_.lanes); }
  /// Of the tile that begins at this column.
  [[nodiscard]] std::int64_t width_at(std::int64_t col, const Block& block, std::int64_t rows) const {
    const std::int64_t left = block.cols.end - col, wide = rows > 2 || packs_right_ ? 0 : 8 / rows * kernels_.lanes;
    return wide > 0 && left >= wide ? wide : smaller(left, tile_cols_);
  }

  /// The grid of threads over c for which the largest part is smallest.
  void choose_grid(double work) {
    if (work < shared_work) return;
    const std::int64_t threads = smaller<std::int64_t>(
        max_threads(), static_cast<std::int64_t>(work / thread_work < 1e6 ? work / thread_work : 1e6));
    std::int64_t best = -1;
    for (std::int64_t rows = 1; rows <= threads; ++rows) {
      const std::int64_t cols = threads / rows;
      const std::int64_t height = ceil_div(m_, rows), width = ceil_div(ceil_div(n_, tile_cols_), cols) * tile_cols_;
      // To pack an element costs about as much as to multiply it with eight others.
      const std::int64_t cost = height * width + (packs_right_ ? 8 * width : 0) + (packs_left_ ? 8 * height : 0);
      if (best < 0 || cost < best) best = cost, grid_rows_ = rows, grid_cols_ = cols;
    }
  }

  void compute_rows(Range rows, Range cols) const {
    const std::int64_t height = keeps_sums() ? kept_rows : rows.size();
    for (std::int64_t first = rows.begin; first < rows.end; first += height)
      compute({first, smaller(rows.end, first + height)}, cols);
  }

  /// Columns of b that stay in the second-level cache: whole tiles, or all that there are.
  [[nodiscard]] std::int64_t cached_columns(Range cols) const {
    const std::int64_t bytes = (depth_block_ + 1) * static_cast<std::int64_t>(sizeof(R));
    if (cols.size() * bytes <= cached_bytes) return cols.size();
    const std::int64_t fitting = cached_bytes / bytes;
    return fitting < tile_cols_ ? tile_cols_ : fitting / tile_cols_ * tile_cols_;
  }

  void compute(Range rows, Range cols) const {
    const std::int64_t width = cached_columns(cols);
    const RowPanels panels(rows, kernels_.max_rows);
    GemmScratch& scratch = of_this_thread<GemmScratch>();
    Block block{rows, cols, {0, depth_block_}, nullptr, nullptr, nullptr, nullptr, 0};
    block.sums_stride = round_up(smaller(width, cols.size()), tile_cols_);
    if (packs_left_) block.left = scratch.left.reserve<R>(kernels_.max_rows * depth_block_ + kernels_.lanes);
    block.right = scratch.right.reserve<R>(block.sums_stride * depth_block_);
    block.tile = scratch.tile.reserve<R>((kernels_.max_rows + 2) * tile_cols_);
    if (keeps_sums()) block.sums = scratch.sums.reserve<R>(rows.size() * block.sums_stride);
    for (std::int64_t col = cols.begin; col < cols.end; col += width) {
      block.cols = {col, smaller(cols.end, col + width)};
      std::int64_t k = 0;
      do {  // once where the depth is 0
        block.depth = {k, smaller(k_, k + depth_block_)};
        pack_right(block);
        for (std::int64_t i = 0, row = rows.begin; i < panels.count(); ++i) {
          const RowPanel panel = panels.at(i, row);
          multiply_panel(block, panel);
          row = panel.first + panel.rows;
        }
        k = block.depth.end;
      } while (k < k_);
    }
  }

  void pack_right(const Block& block) const {
    for (std::int64_t col = block.cols.begin; col < block.cols.end; col += tile_cols_) {
      const std::int64_t width = smaller(tile_cols_, block.cols.end - col);
      if (reads_in_place(width)) continue;
      const T* const from = call_.b.data + col * call_.b.col_stride + block.depth.begin * call_.b.row_stride;
      pack<T>(kernels_, {from, width, call_.b.col_stride, n_ - col, block.depth.size(), call_.b.row_stride},
              padded(width), block.right + (col - block.cols.begin) * block.depth.size());
    }
  }

  void multiply_panel(const Block& block, const RowPanel& panel) const {
    const T* const from = call_.a.data + panel.first * call_.a.row_stride + block.depth.begin * call_.a.col_stride;
    TileProduct<R> product{};
    product.depth = block.depth.size();
    if (packs_left_) {
      pack<T>(kernels_, {from, panel.rows, call_.a.row_stride, m_ - panel.first, product.depth, call_.a.col_stride},
              panel.rows, block.left);
      product.left = block.left, product.left_row = 1, product.left_depth = panel.rows;
    } else if constexpr (!converts) {
      product.left = from, product.left_row = call_.a.row_stride, product.left_depth = call_.a.col_stride;
    }
    for (std::int64_t col = block.cols.begin, width = 0; col < block.cols.end; col += width) {
      width = width_at(col, block, panel.rows);
      product.right = block.right + (col - block.cols.begin) * product.depth;
      product.right_depth = padded(width);
      if constexpr (!converts)
        if (reads_in_place(width)) {
          product.right = call_.b.data + col + block.depth.begin * call_.b.row_stride;
          product.right_depth = call_.b.row_stride;
        }
      multiply_tile(block, panel, product, col, width);
    }
  }

  /// Multiplies one tile and adds it to its sums, or, in the last block of depth, runs the epilogue on it.
  void multiply_tile(const Block& block, const RowPanel& panel, TileProduct<R>& product, std::int64_t col,
                     std::int64_t width) const {
    const bool first = block.depth.begin == 0, finishes = block.depth.end == k_ && !(sums_in_c_ && call_.plain);
    const bool adds = !first || (call_.plain && call_.accumulates && sums_in_c_);
    // A row that was done before is done again where that changes nothing.
    const std::int64_t done = finishes || adds ? panel.done : 0, row = panel.first + done, rows = panel.rows - done;
    R* sums = nullptr;
    std::int64_t stride = block.sums_stride;
    if (block.sums) sums = block.sums + (row - block.rows.begin) * stride + (col - block.cols.begin);
    if constexpr (!converts)
      if (sums_in_c_) sums = call_.c.data + row * call_.c.row_stride + col, stride = call_.c.row_stride;
    const bool fits = !finishes && done == 0 && (!sums_in_c_ || fills_tile(width));
    const std::int64_t tile_stride = width > tile_cols_ ? width : tile_cols_;
    product.out = fits ? sums : block.tile;
    product.out_stride = fits ? stride : tile_stride;
    product.cols = kernels_.masks ? width : padded(width);
    product.accumulate = fits && adds;
    if (width > tile_cols_) kernels_.wide_tile[panel.rows / 2](product);
    else kernels_.tile[width > kernels_.lanes][panel.rows / 2](product);
    if (fits) return;
    R* const tile = block.tile + done * tile_stride;
    if (!finishes) return kernels_.copy_rows({tile, tile_stride, sums, stride, rows, width, adds});
    if (!first) kernels_.copy_rows({sums, stride, tile, tile_stride, rows, width, true});
    call_.finish(call_, {tile, tile_stride, row, col, rows, width});
  }

  GemmCall<T> call_;
  const KernelSet<R>& kernels_;
  std::int64_t tile_cols_;
  std::int64_t m_, n_, k_;
  std::int64_t depth_block_ = 0;
  std::int64_t grid_rows_ = 1, grid_cols_ = 1;
  bool packs_left_, packs_right_;
  bool sums_in_c_ = false;  ///< c can hold the sums between two blocks of depth
};

}  // namespace cpu::detail
}  // namespace locus::inline LOCUS_ABI
