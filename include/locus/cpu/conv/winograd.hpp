#pragma once
// Winograd's convolution F(4 x 4, 3 x 3): of kernels of 3 x 3 and stride 1, 36 products for 16 results in place of 144,
// in the value and in both gradients.
//
// Tiles of images are transformed in blocks that stay in cache, channels side by side; for each of 36 points the
// transformed tiles times the transformed weights are a matrix product, by the tiles of cpu/gemm; its results are
// transformed back. Blocks depend on the shape alone, and one thread computes each sum: results are the same for any
// number of threads.

#include <locus/cpu/conv/winograd_tiles.hpp>
#include <locus/cpu/threads/parallel.hpp>

namespace locus { inline namespace LOCUS_ABI { namespace cpu::detail {

/// Weights of 3 x 3 taps as a pass sees them: of `in` channels that it sums over, `out` of the result.
struct WinogradWeights {
  const float* data;
  std::int64_t in, out, in_stride, out_stride;  ///< strides in elements; taps lie side by side
  bool flipped;                                 ///< the adjoint's: the last tap first
};

/// Transforms the weights of rows [first, first + rows) for a strip of results -> planes of (rows, strip).
inline void transform_strip(const KernelSet<float>& kernels, const WinogradWeights& w, std::int64_t strip,
                            std::int64_t first, std::int64_t rows, float* to, std::int64_t plane) {
  const WinogradKernels& transforms = winograd_kernels(kernels);
  const std::int64_t width = std::int64_t{2} * kernels.lanes, out = strip * width;
  const std::int64_t valid = locus::detail::smaller(width, w.out - out);
  const std::int64_t room = weight_rows * 9 * width;
  float* const taps = of_this_thread<ConvScratch>().taps.reserve<float>(room);
  if (valid < width) std::memset(taps, 0, static_cast<std::size_t>(room) * sizeof(float));
  for (std::int64_t row = 0; row < rows; row += weight_rows) {
    const std::int64_t count = locus::detail::smaller(weight_rows, rows - row);
    const float* const from = w.data + (first + row) * w.in_stride + out * w.out_stride;
    if (w.in_stride == 9) to_lanes(kernels, from, w.out_stride, valid, count * 9, taps, width);
    else
      for (std::int64_t i = 0; i < count; ++i)
        to_lanes(kernels, from + i * w.in_stride, w.out_stride, valid, 9, taps + i * 9 * width, width);
    for (std::int64_t i = 0; i < count; ++i)
      for (std::int64_t lane = 0; lane < width; lane += kernels.lanes)
        transforms.weight_tile(taps + (i * 9 + (w.flipped ? 8 : 0)) * width + lane, w.flipped ? -width : width,
                               to + (row + i) * width + lane, plane);
  }
}

/// Transforms the products of a block and a strip back, into the results.
inline void finish_tiles(const KernelSet<float>& kernels, const TileGrid& grid, const TileBlock& block,
                         std::int64_t channels, std::int64_t strip, const float* products, std::int64_t plane,
                         const ConvResult& result) {
  ConvScratch& scratch = of_this_thread<ConvScratch>();
  const std::int64_t width = std::int64_t{2} * kernels.lanes, first = strip * width;
  const std::int64_t valid = locus::detail::smaller(width, channels - first);
  const std::int64_t rows = grid.height_of(block), cols = grid.width_of(block), positions = rows * cols;
  float* const elements = scratch.result.reserve<float>((block.images * positions + 2) * width);
  float *const unused = elements + block.images * positions * width, *const bias = unused + width;
  for (std::int64_t lane = 0; lane < width; ++lane)
    bias[lane] = result.bias && lane < valid ? result.bias[first + lane] : 0.0f;
  const std::int64_t top = winograd_side * block.first_row, left = winograd_side * block.first_col;
  const bool is_in_place = result.images.is_channels_last() && valid == width && !result.adds;
  const auto place = [&](std::int64_t image, std::int64_t row, std::int64_t col) {
    return is_in_place ? result.images.at(block.image + image, first, top + row, left + col)
                       : elements + ((image * rows + row) * cols + col) * width;
  };
  grid.for_each_tile(block, [&](std::int64_t tile, std::int64_t image, std::int64_t row, std::int64_t col) {
    float* to[winograd_side * winograd_side];
    for (int i = 0; i < winograd_side; ++i)
      for (int j = 0; j < winograd_side; ++j) {
        const std::int64_t r = row - top + i, c = col - left + j;
        to[i * winograd_side + j] = r < rows && c < cols ? place(image, r, c) : unused;
      }
    winograd_kernels(kernels).output_tile(products + tile * width, plane, width, bias, to);
  });
  if (is_in_place) return;
  const std::int64_t run = cols == grid.width ? positions : cols;
  for (std::int64_t image = 0; image < block.images; ++image)
    for (std::int64_t at = 0; at < positions; at += run)
      result.store(kernels, elements + (image * positions + at) * width, width, valid, run,
                   result.images.at(block.image + image, first, top + at / cols, left));
}

/// Tiles of a block whose transforms take about this many bytes.
[[nodiscard]] inline std::int64_t tiles_for(std::int64_t channels, std::int64_t bytes) {
  const std::int64_t fitting = bytes / (winograd_points * channels * std::int64_t{sizeof(float)});
  return locus::detail::larger(std::int64_t{16}, locus::detail::smaller(fitting, std::int64_t{128}));
}

/// A pass that is a convolution: the value, or, with flipped weights, the gradient of the input.
class WinogradPass {
 public:
  WinogradPass(const ConvShape& shape, const ConvImages<const float>& x, const WinogradWeights& w,
               const ConvResult& result)
      : kernels_(*kernels_in_use<float>()),
        x_{x, w.in, shape.axis[1].extent, shape.axis[2].extent},
        w_(w),
        result_(result),
        before_row_(shape.axis[1].before),
        before_col_(shape.axis[2].before),
        grid_(shape.batch, shape.axis[1].outputs, shape.axis[2].outputs, tiles_for(w.in, block_bytes)),
        width_(std::int64_t{2} * kernels_.lanes),
        strips_(ceil_div(w.out, width_)),
        padded_(round_up(w.in, kernels_.lanes)) {}

  /// Whether the tiles of a block take little memory: with very many channels they do not.
  [[nodiscard]] bool fits() const {
    const auto tiles = static_cast<double>(grid_.most_tiles());
    // Transformed and, of six rows, copied; products, and results.
    const auto of_tile = static_cast<double>((winograd_points + 24) * padded_ + (winograd_points + 16) * width_);
    return tiles * of_tile * sizeof(float) <= most_scratch;
  }
  void run() const {
    // No more tiles than channels of the result: the tiles take no more memory than the weights would.
    if (grid_.tiles() <= locus::detail::smaller(few_tiles, w_.out) && w_.in * w_.out >= many_weights) run_strips();
    else run_blocks();
  }

 private:
  static constexpr std::int64_t block_bytes = std::int64_t{1} << 20;
  /// So few tiles for so many weights: threads share the weights, and not the tiles.
  static constexpr std::int64_t few_tiles = 128, many_weights = 1 << 17, depth_at_once = 128;

  /// Transforms the weights first; then one thread computes each block.
  void run_blocks() const {
    const std::int64_t plane = strips_ * w_.in * width_ + plane_gap, chunks = ceil_div(w_.in, weight_rows);
    float* const weights = of_this_thread<ConvScratch>().weights.reserve<float>(winograd_points * plane);
    parallel_for(strips_ * chunks, [&](std::int64_t task) {
      const std::int64_t strip = task / chunks, row = task % chunks * weight_rows;
      transform_strip(kernels_, w_, strip, row, locus::detail::smaller(weight_rows, w_.in - row),
                      weights + (strip * w_.in + row) * width_, plane);
    });
    const std::int64_t tile_plane = grid_.most_tiles() * padded_ + plane_gap,
                       sum_plane = grid_.most_tiles() * width_ + plane_gap;
    parallel_for(grid_.blocks(), [&](std::int64_t task) {
      ConvScratch& scratch = of_this_thread<ConvScratch>();
      const TileBlock block = grid_.block(task);
      float* const tiles = scratch.tiles.reserve<float>(winograd_points * tile_plane);
      float* const sums = scratch.products.reserve<float>(winograd_points * sum_plane);
      transform_tiles<winograd_tile>(kernels_, x_, grid_, block, before_row_, before_col_, tiles, tile_plane);
      for (std::int64_t strip = 0; strip < strips_; ++strip) {
        for (std::int64_t point = 0; point < winograd_points; ++point)
          multiply_strip(kernels_, {w_.in, tiles + point * tile_plane, padded_, 1, width_, width_, false},
                         grid_.tiles_of(block), weights + point * plane + strip * w_.in * width_,
                         sums + point * sum_plane);
        finish_tiles(kernels_, grid_, block, w_.out, strip, sums, sum_plane, result_);
      }
    });
  }

  /// Transforms all tiles first; then one thread computes each strip, transforming its weights into its own cache.
  void run_strips() const {
    const std::int64_t all = grid_.tiles(), tile_plane = all * padded_ + plane_gap;
    float* const tiles = of_this_thread<ConvScratch>().input.reserve<float>(winograd_points * tile_plane);
    parallel_for(grid_.blocks(), [&](std::int64_t task) {
      const TileBlock block = grid_.block(task);
      transform_tiles<winograd_tile>(kernels_, x_, grid_, block, before_row_, before_col_,
                                     tiles + grid_.tiles_before(block) * padded_, tile_plane);
    });
    const std::int64_t plane = depth_at_once * width_ + plane_gap, sum_plane = all * width_ + plane_gap;
    parallel_for(strips_, [&](std::int64_t strip) {
      ConvScratch& scratch = of_this_thread<ConvScratch>();
      float* const weights = scratch.tiles.reserve<float>(winograd_points * plane);
      float* const sums = scratch.products.reserve<float>(winograd_points * sum_plane);
      for (std::int64_t row = 0; row < w_.in; row += depth_at_once) {
        const std::int64_t rows = locus::detail::smaller(depth_at_once, w_.in - row);
        transform_strip(kernels_, w_, strip, row, rows, weights, plane);
        for (std::int64_t point = 0; point < winograd_points; ++point)
          multiply_strip(kernels_, {rows, tiles + point * tile_plane + row, padded_, 1, width_, width_, row > 0}, all,
                         weights + point * plane, sums + point * sum_plane);
      }
      for (std::int64_t i = 0; i < grid_.blocks(); ++i) {
        const TileBlock block = grid_.block(i);
        finish_tiles(kernels_, grid_, block, w_.out, strip, sums + grid_.tiles_before(block) * width_, sum_plane,
                     result_);
      }
    });
  }

  const KernelSet<float>& kernels_;
  LaneImages x_;
  WinogradWeights w_;
  ConvResult result_;
  std::int64_t before_row_, before_col_;
  TileGrid grid_;
  std::int64_t width_, strips_, padded_;
};

/// The value of a convolution, or the gradient of its input.
[[nodiscard]] inline WinogradPass winograd_pass(const ConvShape& shape, const ConvImages<const float>& x,
                                                const float* w, const float* bias, const ConvImages<float>& y,
                                                bool adds, bool adjoint) {
  if (!adjoint) return {shape, x, {w, shape.in, shape.out, 9, shape.in * 9, false}, {bias, y, adds}};
  ConvShape turned = shape;
  for (int d = 1; d < 3; ++d) {
    ConvAxis& axis = turned.axis[d];
    axis.extent = shape.axis[d].outputs, axis.outputs = shape.axis[d].extent, axis.before = 2 - axis.before;
  }
  return {turned, x, {w, shape.out, shape.in, shape.in * 9, 9, true}, {bias, y, adds}};
}

}}}  // namespace locus::LOCUS_ABI::cpu::detail
