#pragma once
// How a matrix product of floating-point numbers is cut into tiles, packed, and shared among threads.

#include <locus/core/bounds.hpp>
#include <locus/device/cpu/gemm_pack.hpp>
#include <locus/device/cpu/parallel.hpp>
#include <locus/device/verbs.hpp>

namespace locus::inline LOCUS_ABI {
namespace cpu::detail {

/// A part of the finished sums: element (i, j) of it belongs to c(row + i, col + j). It may be overwritten.
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

/// Multiply-adds of a product.
template <class T>
[[nodiscard]] double work_of(const MatrixRef<T>& c, std::int64_t depth) {
  return static_cast<double>(c.rows) * static_cast<double>(c.cols) * static_cast<double>(depth);
}
inline constexpr std::int64_t most_tiny_work = 32;      // of numbers or vectors, one after the other
inline constexpr double thread_work = 5e5;              // multiply-adds that are worth a thread
inline constexpr double shared_work = 2 * thread_work;  // and those that are worth sharing
/// Of the depth, what is summed at once where nothing is packed: sums of more are less accurate.
inline constexpr std::int64_t direct_depth = 1024;

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
  /// How many of the same height there are from the first of these on.
  [[nodiscard]] std::int64_t alike(std::int64_t index) const { return index < higher_ ? higher_ : count_ - index; }
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
  std::int64_t width;       ///< all of them
  std::int64_t tile_width;  ///< the first of them
  Tile<R> tile;

  /// `next`: from the right operand of a tile to that of the next one.
  [[gnu::noinline]] void multiply(const TileProduct<R>& product, const R* right, std::int64_t next, R* out,
                                  std::int64_t cols) const {
    for (; cols > 0; cols -= tile_width, right += next, out += tile_width)
      tile(product, right, out, cols < tile_width ? cols : tile_width);
  }
};

/// Those of a panel of so many rows that begin `left` columns from the right edge.
template <class R>
[[nodiscard]] Strip<R> strip_at(const KernelSet<R>& kernels, std::int64_t left, std::int64_t rows, bool in_place) {
  const std::int64_t tile_cols = 2 * kernels.lanes, rest = left & (tile_cols - 1);
  if (rows <= 2 && in_place)
    if (const std::int64_t wide = 4 * tile_cols >> (rows - 1); left >= wide)
      return {left & -wide, wide, kernels.wide_tile[rows / 2]};
  if (left <= kernels.lanes) return {left, kernels.lanes, kernels.tile[0][rows / 2]};
  const bool joins = rest > kernels.lanes && (kernels.masks || left < tile_cols);
  return {joins ? left : left - rest, tile_cols, kernels.tile[1][rows / 2]};
}

/// Whether rows begin so many bytes apart, or a multiple of it, but for a cache line.
template <class T>
[[nodiscard]] bool are_apart(const MatrixRef<T>& rows, std::int64_t bytes) {
  constexpr std::int64_t line = 64;
  const std::int64_t apart = rows.row_stride * static_cast<std::int64_t>(sizeof(T));
  return rows.col_stride == 1 && apart > line && (apart + line) % bytes <= 2 * line;
}
/// Rows of a that a tile may read where they lie. The first-level cache holds eight lines with the same address within
/// 4 KiB: of more rows that are a multiple of that apart, each line is fetched anew for every element.
template <class T>
[[nodiscard]] int rows_in_place(const KernelSet<T>& kernels, const MatrixRef<const T>& a) {
  return are_apart(a, 4096) ? smaller(8, kernels.max_rows) : kernels.max_rows;
}

/// Panels of the same height, one after the other; the last one ends where the matrix does.
struct EqualPanels {
  std::int64_t first_row, count, rows;
};

/// Multiplies the columns of a strip, from this one on. Where sums are kept apart, they become columns of c.
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

/// A small product whose operands are read, and whose sums are written, where they lie; false, and nothing done, where
/// that cannot be. Columns of c may be dense, too.
template <class T>
[[nodiscard]] bool multiply_in_place(const GemmCall<T>& call) {
  const KernelSet<T>& kernels = *kernels_in_use<T>();
  const std::int64_t m = call.c.rows, n = call.c.cols, k = call.a.cols;
  const bool by_rows = call.c.col_stride == 1;
  if (!kernels.masks || !call.plain || call.accumulates || call.b.col_stride != 1) return false;
  if (!(by_rows || call.c.row_stride == 1) || k == 0 || k > direct_depth || work_of(call.c, k) > shared_work)
    return false;
  TileProduct<T> product{k, nullptr, call.a.row_stride, call.a.col_stride, call.b.row_stride, call.c.row_stride, false};
  T* sums = nullptr;
  if (!by_rows) {
    product.out_stride = 8 * kernels.lanes;  // of the widest tile
    sums = of_this_thread<GemmScratch>().tile.template reserve<T>(kernels.max_rows * product.out_stride);
  }
  const auto multiply_panels = [&](const EqualPanels& panels) {
    for (std::int64_t col = 0, width = 0; col < n; col += width) {
      Strip<T> strip = strip_at(kernels, n - col, panels.rows, true);
      if (strip.width <= kernels.lanes && panels.rows <= 2 && k >= 16)
        strip.tile = kernels.turning_tile[panels.rows / 2];
      width = strip.width;
      multiply_in_place(call, strip, col, panels, product, sums);
    }
  };
  // A wide tile of the last row, where there are an odd number, costs less than to compute the one before it twice.
  const std::int64_t even = n >= 8 * kernels.lanes ? m & -2 : m;
  if (even < m) multiply_panels({even, 1, 1});
  if (even == 0) return true;
  const int most = rows_in_place(kernels, call.a);
  // While the sums of one tile are written, the processor is at the next: where they are many, in low tiles. And where
  // little else is done, in rows that do not displace each other from the cache.
  const bool writes_much = n > kernels.lanes && k <= 32, mostly_writes = k <= 4 && are_apart(call.c, 2048);
  const RowPanels panels({0, even}, mostly_writes ? 2 : writes_much ? kernels.max_rows / 2 + 1 : most);
  for (std::int64_t i = 0, row = 0, count = 0; i < panels.count(); i += count) {
    const std::int64_t rows = panels.at(i, row).rows;
    multiply_panels({row, count = panels.alike(i), rows});
    row += count * rows;
  }
  return true;
}

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
    const std::int64_t most_right = m_ <= 4 * kernels_.max_rows ? 2 * direct_right : direct_right;
    const bool small = work <= direct_work || m_ <= kernels_.max_rows || k_ * n_ <= most_right;
    packs_right_ = converts || call_.b.col_stride != 1 || !small;
    packs_left_ = converts || (n_ > direct_columns && !small);
    panel_rows_ = kernels_.max_rows;
    if constexpr (!converts)
      if (!packs_left_) panel_rows_ = rows_in_place(kernels_, call_.a);
    const std::int64_t most_depth = packs_left_ ? 512 * per_lane() : direct_depth;
    depth_block_ = k_ <= most_depth ? k_ : round_up(ceil_div(k_, ceil_div(k_, most_depth)), per_lane());
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
  static constexpr double direct_work = 8e6;               // multiply-adds below which packing does not pay
  static constexpr std::int64_t direct_columns = 128;      // columns below which packing a does not pay
  static constexpr std::int64_t direct_right = 1 << 19;    // elements of b below which four panels do not pay for it
  static constexpr std::int64_t cached_bytes = 640 << 10;  // of b in the second-level cache
  static constexpr std::int64_t packed_together = 6;       // panels of a
  static constexpr std::int64_t latency_rows = 8;          // of a tile of one vector that keep the processor busy
  static constexpr std::int64_t packed_rows = 2016;        // of a, packed at a time
  static constexpr std::int64_t kept_rows = 1008, kept_columns = 1024;  // of sums that are kept apart at a time

  /// A block of the product in work: where its operands are packed and its sums are kept, and its place in the depth.
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

  /// Elements of the depth that share a lane of packed operands.
  [[nodiscard]] std::int64_t per_lane() const {
    if constexpr (std::is_same_v<T, bfloat16>) return kernels_.pack_pairs ? 2 : 1;
    else return 1;
  }
  /// Packed lanes for so much of the depth.
  [[nodiscard]] std::int64_t packed(std::int64_t depth) const { return per_lane() == 1 ? depth : (depth + 1) / 2; }

  /// The grid of threads over c for which the largest part is smallest.
  void choose_grid(double work) {
    if (work < shared_work) return;
    const std::int64_t threads = smaller<std::int64_t>(
        max_threads(), static_cast<std::int64_t>(work / thread_work < 1e6 ? work / thread_work : 1e6));
    std::int64_t best = -1;
    for (std::int64_t rows = 1; rows <= threads; ++rows) {
      const std::int64_t cols = threads / rows;
      const std::int64_t height = ceil_div(m_, rows), width = ceil_div(ceil_div(n_, cut_cols_), cols) * cut_cols_;
      // To pack an element costs about as much as to multiply it with eight others.
      const std::int64_t cost = height * width + (packs_right_ ? 8 * width : 0) + (packs_left_ ? 8 * height : 0);
      if (best < 0 || cost < best) best = cost, grid_rows_ = rows, grid_cols_ = cols;
    }
  }

  void compute_part(Range rows, Range cols) const {
    const std::int64_t height = keeps_sums() ? kept_rows : packs_left_ ? packed_rows : rows.size();
    const std::int64_t width = keeps_sums() ? kept_columns : cols.size();
    for (std::int64_t col = cols.begin; col < cols.end; col += width)
      for (std::int64_t row = rows.begin; row < rows.end; row += height)
        compute({row, smaller(rows.end, row + height)}, {col, smaller(cols.end, col + width)});
  }

  /// Columns of b that stay in the second-level cache: whole tiles, or all that there are.
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

  /// Calls pack_strip(strip, first, depth) for all of them, at an even `first`. Where the lanes of all lie side by side
  /// in memory, strips take turns, so that a line or a page is read once.
  template <class F>
  static void pack_by_turns(std::int64_t strips, std::int64_t depth, bool side_by_side, const F& pack_strip) {
    const std::int64_t step = side_by_side ? 8 : depth;
    for (std::int64_t first = 0; first < depth; first += step)
      for (std::int64_t strip = 0; strip < strips; ++strip) pack_strip(strip, first, smaller(step, depth - first));
  }

  void pack_right(const Block& block) const {
    const std::int64_t width = block.cols.size(), tiles = ceil_div(width, tile_cols_);
    if (reads_in_place(smaller(width, tile_cols_)) && reads_in_place(width - (tiles - 1) * tile_cols_)) return;
    pack_by_turns(
        tiles, block.depth.size(), call_.b.col_stride == 1,
        [&](std::int64_t tile, std::int64_t first, std::int64_t depth) {
          const std::int64_t col = tile * tile_cols_, lanes = smaller(tile_cols_, width - col);
          if (reads_in_place(lanes)) return;
          const T* const from = call_.b.data + (block.cols.begin + col) * call_.b.col_stride +
                                (block.depth.begin + first) * call_.b.row_stride;
          pack<T>(kernels_, {from, lanes, call_.b.col_stride, n_ - block.cols.begin - col, depth, call_.b.row_stride},
                  padded(lanes), block.right + col * packed(block.depth.size()) + packed(first) * padded(lanes));
        });
  }

  /// Of a packed panel, with room for what packing writes beyond its end.
  [[nodiscard]] std::int64_t panel_size() const { return kernels_.max_rows * packed(depth_block_) + kernels_.lanes; }

  /// Packs the panels from this one on, which begins at this row, as many as are packed together.
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
                    pack<T>(kernels_,
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
      const Strip<R> strip = strip_at(kernels_, block.cols.end - col, panel.rows, !packs_right_);
      width = strip.width;
      const R* right = block.right + (col - block.cols.begin) * product.depth;
      std::int64_t next = tile_cols_ * product.depth;
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
    // A row that was done before is done again where that changes nothing.
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
  /// Of what does not fit where its sums belong; enough for the widest tile.
  [[nodiscard]] std::int64_t tile_stride() const { return 4 * tile_cols_; }

  GemmCall<T> call_;
  const KernelSet<R>& kernels_;
  std::int64_t tile_cols_;
  std::int64_t cut_cols_;  ///< threads' parts of c are a multiple of so many columns wide
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

}  // namespace cpu::detail
}  // namespace locus::inline LOCUS_ABI
