#pragma once
// The tiles of images, transformed for Winograd's products.

#include <locus/cpu/conv/staged_images.hpp>
#include <locus/cpu/conv/tile_grid.hpp>

namespace locus { inline namespace LOCUS_ABI { namespace cpu::detail {

/// Channels of the input whose weights are transformed together.
inline constexpr std::int64_t weight_rows = 16;

/// Elements of an image, channels side by side: strides of images, rows and columns, and where they begin.
struct LaneView {
  const float* data;
  std::int64_t image, row, col, first_row, first_col;
};

/// Rows and columns of some images, with channels side by side: in place, or copied.
[[nodiscard]] inline LaneView as_lanes(const KernelSet<float>& kernels, const LaneImages& x, const TileBlock& block,
                                       Range rows, Range cols, Scratch& scratch) {
  const auto& stride = x.images.stride;
  const float* const from = x.images.data + block.image * stride[0];
  if (stride[1] == 1 && x.channels % kernels.lanes == 0) return {from, stride[0], stride[3], stride[4], 0, 0};
  const std::int64_t padded = round_up(x.channels, kernels.lanes), elements = rows.size() * cols.size();
  float* const to = scratch.reserve<float>(block.images * elements * padded);
  const std::int64_t step = stride[1] == 1 ? stride[4] : 1,
                     run = stride[3] == cols.size() * step ? elements : cols.size();
  for (std::int64_t image = 0; image < block.images; ++image) {
    const float* line = from + image * stride[0] + rows.begin * stride[3] + cols.begin * step;
    for (std::int64_t at = 0; at < elements; at += run, line += stride[3]) {
      float* const target = to + (image * elements + at) * padded;
      if (stride[1] == 1) copy_positions(line, step, x.channels, run, target, padded);
      else to_lanes(kernels, line, stride[1], x.channels, run, target, padded);
    }
  }
  return {to, elements * padded, cols.size() * padded, padded, rows.begin, cols.begin};
}

/// The elements of a dimension that so many tiles read.
[[nodiscard]] inline Range read_by_tiles(std::int64_t first_tile, std::int64_t tiles, std::int64_t side,
                                         std::int64_t before, std::int64_t extent) {
  using locus::detail::larger, locus::detail::smaller;
  const std::int64_t begin = larger(winograd_side * first_tile - before, std::int64_t{0});
  return {begin, larger(smaller(winograd_side * (first_tile + tiles - 1) - before + side, extent), begin)};
}

/// Transforms the tiles of a block: `side` x `side` elements each, from `before` rows and columns before the results.
template <int side>
void transform_tiles(const KernelSet<float>& kernels, const LaneImages& x, const TileGrid& grid, const TileBlock& block,
                     std::int64_t before_row, std::int64_t before_col, float* to, std::int64_t plane) {
  ConvScratch& scratch = of_this_thread<ConvScratch>();
  const WinogradKernels& transforms = winograd_kernels(kernels);
  const std::int64_t padded = round_up(x.channels, kernels.lanes);
  const LaneView view =
      as_lanes(kernels, x, block, read_by_tiles(block.first_row, block.rows, side, before_row, x.height),
               read_by_tiles(block.first_col, block.cols, side, before_col, x.width), scratch.images);
  float* const border = scratch.taps.reserve<float>(padded);
  std::memset(border, 0, static_cast<std::size_t>(padded) * sizeof(float));
  grid.for_each_tile(block, [&](std::int64_t tile, std::int64_t image, std::int64_t row, std::int64_t col) {
    const float* elements[side * side];
    const float* const from = view.data + image * view.image;
    for (int i = 0; i < side; ++i) {
      const std::int64_t r = row - before_row + i;
      for (int j = 0; j < side; ++j) {
        const std::int64_t c = col - before_col + j;
        const bool inside = r >= 0 && r < x.height && c >= 0 && c < x.width;
        elements[i * side + j] =
            inside ? from + (r - view.first_row) * view.row + (c - view.first_col) * view.col : border;
      }
    }
    if constexpr (side == winograd_tile) transforms.input_tile(elements, padded, to + tile * padded, plane);
    else transforms.cotangent_tile(elements, padded, to + tile * padded, plane);
  });
}

}}}  // namespace locus::LOCUS_ABI::cpu::detail
