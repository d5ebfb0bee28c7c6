#pragma once
// The tiles of Winograd's results, in blocks.

#include <locus/cpu/conv/pass.hpp>
#include <locus/cpu/conv/winograd_kernels.hpp>

namespace locus::inline LOCUS_ABI {
namespace cpu::detail {

/// The tiles of the results of a convolution, in blocks of about so many.
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
    parts_ = ceil_div(rows, most_rows);
    block_rows_ = ceil_div(rows, parts_);
    parts_ = ceil_div(rows, block_rows_);
  }
  [[nodiscard]] std::int64_t blocks() const { return ceil_div(batch_, images_) * parts_; }
  [[nodiscard]] ConvBlock block(std::int64_t i) const {
    const std::int64_t image = i / parts_ * images_, row = i % parts_ * block_rows_;
    return {image, locus::detail::smaller(images_, batch_ - image), row,
            locus::detail::smaller(block_rows_, rows - row)};
  }
  [[nodiscard]] std::int64_t tiles_of(const ConvBlock& block) const { return block.images * block.rows * cols; }
  [[nodiscard]] std::int64_t tiles_before(const ConvBlock& block) const {
    return (block.image * rows + block.first_row) * cols;
  }
  [[nodiscard]] std::int64_t most_tiles() const { return images_ * block_rows_ * cols; }
  [[nodiscard]] std::int64_t tiles() const { return batch_ * rows * cols; }
  /// Rows of results.
  [[nodiscard]] std::int64_t height_of(const ConvBlock& block) const {
    return locus::detail::smaller(winograd_side * block.rows, height - winograd_side * block.first_row);
  }
  /// Calls f(number of the tile, image of the block, first row of results, first column).
  template <class F>
  void for_each_tile(const ConvBlock& block, const F& f) const {
    std::int64_t tile = 0;
    for (std::int64_t image = 0; image < block.images; ++image)
      for (std::int64_t row = 0; row < block.rows; ++row)
        for (std::int64_t col = 0; col < cols; ++col)
          f(tile++, image, winograd_side * (block.first_row + row), winograd_side * col);
  }

  std::int64_t height, width, rows, cols;

 private:
  std::int64_t batch_, images_, parts_, block_rows_;
};

}  // namespace cpu::detail
}  // namespace locus::inline LOCUS_ABI
