#pragma once
// The tiles of Winograd's results, in blocks.

#include <locus/cpu/conv/pass.hpp>
#include <locus/cpu/conv/winograd_kernels.hpp>

namespace locus { inline namespace LOCUS_ABI { namespace cpu::detail {

/// Rows of tiles of some images, or a part of one row.
struct TileBlock {
  std::int64_t image, images, first_row, rows, first_col, cols;
};

/// The tiles of the results of a convolution, in blocks of about `wanted` tiles, fewer than twice as many.
class TileGrid {
 public:
  TileGrid(std::int64_t batch, std::int64_t result_rows, std::int64_t result_cols, std::int64_t wanted)
      : height(result_rows),
        width(result_cols),
        rows(ceil_div(height, winograd_side)),
        cols(ceil_div(width, winograd_side)),
        batch_(batch) {
    using locus::detail::larger, locus::detail::smaller;
    images_ = smaller(larger(wanted / (rows * cols), std::int64_t{1}), batch);
    const std::int64_t most_rows = images_ > 1 ? rows : smaller(larger(wanted / cols, std::int64_t{1}), rows);
    block_rows_ = ceil_div(rows, ceil_div(rows, most_rows));
    row_parts_ = ceil_div(rows, block_rows_);
    block_cols_ = ceil_div(cols, larger(cols / wanted, std::int64_t{1}));
    col_parts_ = ceil_div(cols, block_cols_);
  }
  [[nodiscard]] std::int64_t blocks() const { return ceil_div(batch_, images_) * row_parts_ * col_parts_; }
  [[nodiscard]] TileBlock block(std::int64_t i) const {
    using locus::detail::smaller;
    const std::int64_t col = i % col_parts_ * block_cols_, part = i / col_parts_;
    const std::int64_t row = part % row_parts_ * block_rows_, image = part / row_parts_ * images_;
    return {image, smaller(images_, batch_ - image), row, smaller(block_rows_, rows - row),
            col,   smaller(block_cols_, cols - col)};
  }
  [[nodiscard]] std::int64_t tiles_of(const TileBlock& block) const { return block.images * block.rows * block.cols; }
  [[nodiscard]] std::int64_t tiles_before(const TileBlock& block) const {
    return (block.image * rows + block.first_row) * cols + block.first_col;
  }
  [[nodiscard]] std::int64_t most_tiles() const { return images_ * block_rows_ * block_cols_; }
  [[nodiscard]] std::int64_t tiles() const { return batch_ * rows * cols; }
  /// Rows and columns of results.
  [[nodiscard]] std::int64_t height_of(const TileBlock& block) const {
    return locus::detail::smaller(winograd_side * block.rows, height - winograd_side * block.first_row);
  }
  [[nodiscard]] std::int64_t width_of(const TileBlock& block) const {
    return locus::detail::smaller(winograd_side * block.cols, width - winograd_side * block.first_col);
  }
  /// Calls f(number of the tile, image of the block, first row of results, first column).
  template <class F>
  void for_each_tile(const TileBlock& block, const F& f) const {
    std::int64_t tile = 0;
    for (std::int64_t image = 0; image < block.images; ++image)
      for (std::int64_t row = 0; row < block.rows; ++row)
        for (std::int64_t col = 0; col < block.cols; ++col)
          f(tile++, image, winograd_side * (block.first_row + row), winograd_side * (block.first_col + col));
  }

  std::int64_t height, width, rows, cols;

 private:
  std::int64_t batch_, images_, row_parts_, block_rows_, col_parts_, block_cols_;
};

}}}  // namespace locus::LOCUS_ABI::cpu::detail
