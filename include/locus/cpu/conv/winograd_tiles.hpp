#pragma once
// The tiles of images, transformed for Winograd's products.

#include <locus/cpu/conv/stage.hpp>
#include <locus/cpu/conv/tile_grid.hpp>

namespace locus::inline LOCUS_ABI {
namespace cpu::detail {

/// Channels of the input whose weights are transformed together.
inline constexpr std::int64_t weight_rows = 16;

/// Transforms the tiles of a block: `side` x `side` elements each, from `before` rows and columns before the results.
template <int side>
void transform_tiles(const KernelSet<float>& kernels, const LaneImages& x, const TileGrid& grid, const ConvBlock& block,
                     std::int64_t before_row, std::int64_t before_col, float* to, std::int64_t plane) {
  using locus::detail::larger, locus::detail::smaller;
  ConvScratch& scratch = of_this_thread<ConvScratch>();
  const WinogradKernels& transforms = winograd_kernels(kernels);
  const std::int64_t padded = round_up(x.channels, kernels.lanes);
  const std::int64_t first = larger(winograd_side * block.first_row - before_row, std::int64_t{0});
  const std::int64_t last_tile = winograd_side * (block.first_row + block.rows - 1) - before_row;
  const std::int64_t end = larger(smaller(last_tile + side, x.height), first);
  const LaneView view = as_lanes(kernels, x, block, first, end, scratch.images);
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
        elements[i * side + j] = inside ? from + (r - view.first_row) * view.row + c * view.col : border;
      }
    }
    if constexpr (side == winograd_tile) transforms.input_tile(elements, padded, to + tile * padded, plane);
    else transforms.cotangent_tile(elements, padded, to + tile * padded, plane);
  });
}

}  // namespace cpu::detail
}  // namespace locus::inline LOCUS_ABI
