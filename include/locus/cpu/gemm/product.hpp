#pragma once
// How a large matrix product of floating-point numbers is cut into blocks, packed, and shared among threads.

#include <locus/core/std/bounds.hpp>
#include <locus/cpu/gemm/strategy.hpp>

namespace locus { inline namespace LOCUS_ABI { namespace cpu::detail {

/// The loops, from outside in: threads (a grid over c), blocks of depth, blocks of columns, panels of rows, tiles.
/// A block of b stays in the second-level cache, a panel of a, packed once for all blocks of columns, comes from the
/// third, a tile of c is held in registers. The depth is cut at places that depend on the shape alone, and the sums
/// over its blocks are added in order, so that neither the number of threads nor the cut of rows and columns changes a
/// bit of the result.
template <class T>
class Product {
  using R = compute_t<T>;
  static constexpr bool converts = !std::is_same_v<T, R>;

 public:
  explicit Product(const GemmCall<T>& call)
      : call_(call),
        kernels_(*kernels_in_use<T>()),
        tile_cols_(2 * kernels_.lanes),
        cut_cols_(kernels_.max_rows < latency_rows ? tile_cols_ : kernels_.lanes),
        m_(call.c.rows),
        n_(call.c.cols),
        k_(call.a.cols) {
    static constexpr T zero{};
    if (k_ == 0) call_.a = {&zero, m_, 0, 0, 0}, call_.b = {&zero, 0, n_, 0, 0};
    const double work = work_of(call.c, k_);
    const bool small = m_ <= kernels_.max_rows || !packing_pays(kernels_, call_);
    packs_right_ = converts || call_.b.col_stride != 1 || !small;
    packs_left_ = converts || (n_ > direct_columns && !small);
    panel_rows_ = kernels_.max_rows;
    if constexpr (!converts)
      if (!packs_left_) panel_rows_ = rows_in_place(kernels_, call_.a);
    const std::int64_t most_depth = packs_left_ ? 512 * per_lane() : direct_depth;
    depth_block_ = k_ <= most_depth ? k_ : round_up(ceil_div(k_, ceil_div(k_, most_depth)), depth_unit());
    if constexpr (!converts) sums_in_c_ = call_.c.col_stride == 1 && (call_.plain || !call_.accumulates);
    choose_grid(work);
  }

  void run() const {
    if (grid_rows_ * grid_cols_ == 1) return compute_part({0, m_}, {0, n_});
    parallel_for(grid_rows_ * grid_cols_, [this](std::int64_t task) {
      const std::int64_t row = task / grid_cols_, col = task % grid_cols_, strips = ceil_div(n_, cut_cols_);
      const auto pairs_before = [this](std::int64_t part) { return (m_ + 1) / 2 * part / grid_rows_; };
      const Range rows{2 * pairs_before(row), smaller(m_, 2 * pairs_before(row + 1))};
      const Range cols{strips * col / grid_cols_ * cut_cols_, smaller(n_, strips * (col + 1) / grid_cols_ * cut_cols_)};
      compute_part(rows, cols);
    });
  }

 private:
  /// A block being computed: its ranges, its packed operands and its sums.
  struct Block {
    Range rows, cols, depth;
    R *left, *right, *sums;
    R* tile;                              ///< room for tiles that do not fit where their sums belong
    std::int64_t sums_stride, first_col;  ///< of the sums
  };

  /// Sums that neither fit c nor are finished in one block of depth live in scratch memory.
  [[nodiscard]] bool keeps_sums() const { return !sums_in_c_ && depth_block_ < k_; }
  [[nodiscard]] bool reads_in_place(std::int64_t width) const { return !packs_right_ && fills_tile(width); }
  /// Whether a tile of this width need not be padded.
  [[nodiscard]] bool fills_tile(std::int64_t width) const { return kernels_.masks || width == padded(width); }
  [[nodiscard]] std::int64_t padded(std::int64_t width) const { return round_up(width, kernels_.lanes); }

  /// Elements of the depth that are packed together.
  [[nodiscard]] std::int64_t depth_unit() const {
    if constexpr (std::is_same_v<T, bfloat16>) return kernels_.depth_unit;
    else return 1;
  }
  /// Elements of the depth that share a lane.
  [[nodiscard]] std::int64_t per_lane() const { return smaller<std::int64_t>(depth_unit(), 2); }
  /// Packed lanes for so much of the depth.
  [[nodiscard]] std::int64_t packed(std::int64_t depth) const { return round_up(depth, depth_unit()) / per_lane(); }

  /// The grid of threads over c whose most expensive part is cheapest. Where nothing is packed, each thread gets
  /// several tasks, which balances the load at the price of reading the smaller operand again.
  void choose_grid(double work) {
    const std::int64_t threads = threads_for(work);
    if (threads == 1) return;
    const std::int64_t torn = can_cut(call_.c, cut_cols_) ? 0 : line_work / (k_ + 1);
    std::int64_t best = -1;
    for (std::int64_t rows = 1; rows <= threads; ++rows) {
      const std::int64_t cols = threads / rows;
      const std::int64_t height = ceil_div(m_, rows), width = ceil_div(ceil_div(n_, cut_cols_), cols) * cut_cols_;
      // Packing an element costs about as much as eight multiply-adds.
      const std::int64_t cost =
          height * (width + (packs_left_ ? 8 : 0) + (cols > 1 ? torn : 0)) + (packs_right_ ? 8 * width : 0);
      if (best < 0 || cost < best) best = cost, grid_rows_ = rows, grid_cols_ = cols;
    }
    if (packs_left_ || packs_right_) return;
    const auto several = [tasks = tasks_for(work) / (grid_rows_ * grid_cols_)](std::int64_t most) {
      return locus::detail::within<std::int64_t>(most, 1, tasks);
    };
    if (m_ > n_) grid_rows_ *= several(m_ / (grid_rows_ * kernels_.max_rows));
    else grid_cols_ *= several(n_ / (grid_cols_ * tile_cols_));
  }

  void compute_part(Range rows, Range cols) const {
    const std::int64_t height = keeps_sums() ? kept_rows : packs_left_ ? packed_rows : rows.size();
    const std::int64_t width = keeps_sums() ? kept_columns : cols.size();
    for (std::int64_t col = cols.begin; col < cols.end; col += width)
      for (std::int64_t row = rows.begin; row < rows.end; row += height)
        compute({row, smaller(rows.end, row + height)}, {col, smaller(cols.end, col + width)});
  }

  /// Columns of b that stay in the second-level cache: whole tiles, or all columns.
  [[nodiscard]] std::int64_t cached_columns(Range cols) const {
    const std::int64_t bytes = (packed(depth_block_) + 1) * static_cast<std::int64_t>(sizeof(R));
    if (cols.size() * bytes <= cached_bytes) return cols.size();
    const std::int64_t fitting = cached_bytes / bytes;
    return fitting < tile_cols_ ? tile_cols_ : fitting / tile_cols_ * tile_cols_;
  }

  void compute(Range rows, Range cols) const {
    const std::int64_t width = cached_columns(cols);
    const RowPanels panels(rows, panel_rows_);
    GemmScratch& scratch = of_this_thread<GemmScratch>();
    Block block{rows, cols, {0, depth_block_}, nullptr, nullptr, nullptr, nullptr, 0, cols.begin};
    block.sums_stride = round_up(cols.size(), tile_cols_);
    if (packs_left_) block.left = scratch.left.reserve<R>(panels.count() * panel_size());
    block.right = scratch.right.reserve<R>(round_up(smaller(width, cols.size()), tile_cols_) * packed(depth_block_));
    block.tile = scratch.tile.reserve<R>(kernels_.max_rows * tile_stride());
    if (keeps_sums()) block.sums = scratch.sums.reserve<R>(rows.size() * block.sums_stride);
    std::int64_t k = 0;
    do {  // once where the depth is 0
      block.depth = {k, smaller(k_, k + depth_block_)};
      for (std::int64_t col = cols.begin; col < cols.end; col += width) {
        block.cols = {col, smaller(cols.end, col + width)};
        pack_right(block);
        for (std::int64_t i = 0, row = rows.begin; i < panels.count(); ++i) {
          if (packs_left_ && col == cols.begin && i % packed_together == 0) pack_left(block, panels, i, row);
          const RowPanel panel = panels.at(i, row);
          multiply_panel(block, panel, i);
          row = panel.first + panel.rows;
        }
      }
      k = block.depth.end;
    } while (k < k_);
  }

  /// Calls pack_strip(strip, first, depth) for all strips; `first` is a multiple of depth_unit(). If lanes lie side by
  /// side in memory, strips take turns, so that a line or a page is read once.
  template <class F>
  void pack_by_turns(std::int64_t strips, std::int64_t depth, bool side_by_side, const F& pack_strip) const {
    const std::int64_t step = side_by_side ? locus::detail::larger<std::int64_t>(8, depth_unit()) : depth;
    for (std::int64_t first = 0; first < depth; first += step)
      for (std::int64_t strip = 0; strip < strips; ++strip) pack_strip(strip, first, smaller(step, depth - first));
  }

  void pack_right(const Block& block) const {
    const std::int64_t width = block.cols.size(), tiles = ceil_div(width, tile_cols_);
    if (reads_in_place(smaller(width, tile_cols_)) && reads_in_place(width - (tiles - 1) * tile_cols_)) return;
    pack_by_turns(tiles, block.depth.size(), call_.b.col_stride == 1,
                  [&](std::int64_t tile, std::int64_t first, std::int64_t depth) {
                    const std::int64_t col = tile * tile_cols_, lanes = smaller(tile_cols_, width - col);
                    if (reads_in_place(lanes)) return;
                    const T* const from = call_.b.data + (block.cols.begin + col) * call_.b.col_stride +
                                          (block.depth.begin + first) * call_.b.row_stride;
                    pack<T>(kernels_, Operand::right,
                            {from, lanes, call_.b.col_stride, n_ - block.cols.begin - col, depth, call_.b.row_stride},
                            padded(lanes),
                            block.right + col * packed(block.depth.size()) + packed(first) * padded(lanes));
                  });
  }

  /// Size of a packed panel, with room for the elements that packing writes beyond its end.
  [[nodiscard]] std::int64_t panel_size() const { return kernels_.max_rows * packed(depth_block_) + kernels_.lanes; }

  /// Packs as many panels as are packed together, from panel `index` on, which begins at row `row`.
  void pack_left(const Block& block, const RowPanels& panels, std::int64_t index, std::int64_t row) const {
    RowPanel group[packed_together];
    const std::int64_t count = smaller(packed_together, panels.count() - index);
    for (std::int64_t i = 0; i < count; ++i) {
      group[i] = panels.at(index + i, row);
      row = group[i].first + group[i].rows;
    }
    pack_by_turns(count, block.depth.size(), call_.a.row_stride == 1,
                  [&](std::int64_t i, std::int64_t first, std::int64_t depth) {
                    const RowPanel& panel = group[i];
                    const T* const from = call_.a.data + panel.first * call_.a.row_stride +
                                          (block.depth.begin + first) * call_.a.col_stride;
                    pack<T>(kernels_, Operand::left,
                            {from, panel.rows, call_.a.row_stride, m_ - panel.first, depth, call_.a.col_stride},
                            panel.rows, block.left + (index + i) * panel_size() + packed(first) * panel.rows);
                  });
  }

  void multiply_panel(const Block& block, const RowPanel& panel, std::int64_t index) const {
    TileProduct<R> product{};
    product.depth = packed(block.depth.size());
    if (packs_left_) {
      product.left = block.left + index * panel_size(), product.left_row = 1, product.left_depth = panel.rows;
    } else if constexpr (!converts) {
      product.left = call_.a.data + panel.first * call_.a.row_stride + block.depth.begin * call_.a.col_stride;
      product.left_row = call_.a.row_stride, product.left_depth = call_.a.col_stride;
    }
    for (std::int64_t col = block.cols.begin, width = 0; col < block.cols.end; col += width) {
      Strip<R> strip = strip_at(kernels_, block.cols.end - col, panel.rows, !packs_right_);
      width = strip.width;
      // Decided by the shape of c: a strip's shape depends on the number of threads, and the order of sums must not.
      if (kernels_.masks && m_ <= 2 && n_ <= kernels_.lanes) strip.tile = narrow_tile(kernels_, m_, product);
      const R* right = block.right + (col - block.cols.begin) * product.depth;
      std::int64_t next = strip.tile_width * product.depth;
      product.right_depth = smaller(padded(width), tile_cols_);
      if constexpr (!converts)
        if (reads_in_place(width)) {
          right = call_.b.data + col + block.depth.begin * call_.b.row_stride;
          next = strip.tile_width, product.right_depth = call_.b.row_stride;
        }
      multiply_strip(block, panel, product, right, next, col, strip);
    }
  }

  /// Multiplies tiles and adds them to their sums, or, in the last block of depth, runs the epilogue on them.
  void multiply_strip(const Block& block, const RowPanel& panel, TileProduct<R>& product, const R* right,
                      std::int64_t next, std::int64_t first_col, const Strip<R>& strip) const {
    const bool first = block.depth.begin == 0, finishes = block.depth.end == k_ && !(sums_in_c_ && call_.plain);
    const bool adds = !first || (call_.plain && call_.accumulates && sums_in_c_);
    // An overlapping row is computed again where that is idempotent.
    const std::int64_t done = finishes || adds ? panel.done : 0, row = panel.first + done, rows = panel.rows - done;
    const bool fits = !finishes && done == 0 && (!sums_in_c_ || fills_tile(strip.width));
    R* sums = nullptr;
    std::int64_t stride = block.sums_stride;
    if (block.sums) sums = block.sums + (row - block.rows.begin) * stride + (first_col - block.first_col);
    if constexpr (!converts)
      if (sums_in_c_) sums = call_.c.data + row * call_.c.row_stride + first_col, stride = call_.c.row_stride;
    if (fits) {
      product.out_stride = stride, product.accumulate = adds;
      return strip.multiply(product, right, next, sums, kernels_.masks ? strip.width : padded(strip.width));
    }
    product.out_stride = tile_stride(), product.accumulate = false;
    const std::int64_t most = tile_stride() & -strip.tile_width;
    for (std::int64_t col = 0; col < strip.width; col += most) {
      const std::int64_t width = smaller(most, strip.width - col);
      strip.multiply(product, right, next, block.tile, kernels_.masks ? width : padded(width));
      right += most / strip.tile_width * next;
      R* const tile = block.tile + done * tile_stride();
      if (!finishes) {
        kernels_.copy_rows({tile, tile_stride(), sums + col, stride, rows, width, adds});
        continue;
      }
      if (!first) kernels_.copy_rows({sums + col, stride, tile, tile_stride(), rows, width, true});
      const SumTile<R> sum{tile, tile_stride(), row, first_col + col, rows, width};
      if constexpr (!converts)
        if (call_.plain && call_.c.row_stride == 1) {
          store_columns(call_, sum);
          continue;
        }
      call_.finish(call_, sum);
    }
  }
  /// Row stride of the scratch tile: the width of the widest tile.
  [[nodiscard]] std::int64_t tile_stride() const { return 4 * tile_cols_; }

  GemmCall<T> call_;
  const KernelSet<R>& kernels_;
  std::int64_t tile_cols_;
  std::int64_t cut_cols_;  ///< the width of a thread's part of c is a multiple of it
  std::int64_t m_, n_, k_;
  std::int64_t panel_rows_;  ///< at most
  std::int64_t depth_block_ = 0;
  std::int64_t grid_rows_ = 1, grid_cols_ = 1;
  bool packs_left_, packs_right_;
  bool sums_in_c_ = false;  ///< c can hold the sums between two blocks of depth
};

template <class T>
[[gnu::noinline]] void multiply_by_tiles(const GemmCall<T>& call) {
  Product<T>(call).run();
}

}}}  // namespace locus::LOCUS_ABI::cpu::detail
