#pragma once
// Winograd's convolution F(4 x 4, 3 x 3): of kernels of 3 x 3 and stride 1, 36 products for 16 results in place of 144,
// in the value and in both gradients.
//
// Tiles of images are transformed in blocks that stay in cache, channels side by side; for each of 36 points the
// transformed tiles times the transformed weights are a matrix product, by the tiles of cpu/gemm; its results are
// transformed back. Blocks depend on the shape alone, and every sum is one thread's: results are the same for any
// number of threads.

#include <locus/cpu/conv/lanes.hpp>
#include <locus/cpu/conv/winograd_kernels.hpp>
#include <locus/cpu/threads/parallel.hpp>
#include <locus/cpu/threads/scratch.hpp>
#include <locus/device/convolution.hpp>

#include <cstring>

namespace locus::inline LOCUS_ABI {
namespace cpu::detail {

struct WinogradScratch {
  Scratch weights, input, gradient, sums;         // shared by the threads of a pass
  Scratch images, tiles, products, result, taps;  // of one thread
};

[[nodiscard]] constexpr std::int64_t quotient_up(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }
[[nodiscard]] constexpr std::int64_t rounded_up(std::int64_t a, std::int64_t b) { return quotient_up(a, b) * b; }
/// Between planes: powers of two would share lines of the cache.
inline constexpr std::int64_t plane_gap = 16;

/// Rows of tiles of some images.
struct TileBlock {
  std::int64_t image, images, first_row, rows;
};

/// The tiles of the results of a convolution, in blocks of about so many.
class TileGrid {
 public:
  TileGrid(std::int64_t batch, std::int64_t result_rows, std::int64_t result_cols, std::int64_t wanted)
      : height(result_rows),
        width(result_cols),
        rows(quotient_up(height, winograd_side)),
        cols(quotient_up(width, winograd_side)),
        batch_(batch) {
    using locus::detail::larger, locus::detail::smaller;
    images_ = smaller(larger(wanted / (rows * cols), std::int64_t{1}), batch);
    const std::int64_t most_rows = images_ > 1 ? rows : smaller(larger(wanted / cols, std::int64_t{1}), rows);
    parts_ = quotient_up(rows, most_rows);
    block_rows_ = quotient_up(rows, parts_);
    parts_ = quotient_up(rows, block_rows_);
  }
  [[nodiscard]] std::int64_t blocks() const { return quotient_up(batch_, images_) * parts_; }
  [[nodiscard]] TileBlock block(std::int64_t i) const {
    const std::int64_t image = i / parts_ * images_, row = i % parts_ * block_rows_;
    return {image, locus::detail::smaller(images_, batch_ - image), row,
            locus::detail::smaller(block_rows_, rows - row)};
  }
  [[nodiscard]] std::int64_t tiles_of(const TileBlock& block) const { return block.images * block.rows * cols; }
  [[nodiscard]] std::int64_t tiles_before(const TileBlock& block) const {
    return (block.image * rows + block.first_row) * cols;
  }
  [[nodiscard]] std::int64_t most_tiles() const { return images_ * block_rows_ * cols; }
  [[nodiscard]] std::int64_t tiles() const { return batch_ * rows * cols; }
  /// Rows of results.
  [[nodiscard]] std::int64_t height_of(const TileBlock& block) const {
    return locus::detail::smaller(winograd_side * block.rows, height - winograd_side * block.first_row);
  }
  /// Calls f(number of the tile, image of the block, first row of results, first column).
  template <class F>
  void for_each_tile(const TileBlock& block, const F& f) const {
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

/// Images of some channels.
struct LaneImages {
  ConvImages<const float> images;
  std::int64_t channels, height, width;
};
/// Elements of an image, channels side by side: strides of images, rows and columns.
struct LaneView {
  const float* data;
  std::int64_t image, row, col, first_row;
};

/// Rows [first, end) of some images, with channels side by side: where they lie, or copied.
[[nodiscard]] inline LaneView as_lanes(const KernelSet<float>& kernels, const LaneImages& x, const TileBlock& block,
                                       std::int64_t first, std::int64_t end, Scratch& scratch) {
  const auto& stride = x.images.stride;
  const float* const from = x.images.data + block.image * stride[0];
  if (stride[1] == 1 && x.channels % kernels.lanes == 0) return {from, stride[0], stride[3], stride[4], 0};
  const std::int64_t padded = rounded_up(x.channels, kernels.lanes), rows = end - first;
  float* const to = scratch.reserve<float>(block.images * rows * x.width * padded);
  const bool is_run = stride[3] == x.width;
  for (std::int64_t image = 0; image < block.images; ++image) {
    for (std::int64_t row = 0; row < (is_run ? 1 : rows); ++row) {
      to_lanes(kernels, from + image * stride[0] + (first + row) * stride[3], stride[1], x.channels,
               is_run ? rows * x.width : x.width, to + (image * rows + row) * x.width * padded, padded);
    }
  }
  return {to, rows * x.width * padded, x.width * padded, padded, first};
}

/// Transforms the tiles of a block: `side` x `side` elements each, from `before` rows and columns before the results.
template <int side>
void transform_tiles(const KernelSet<float>& kernels, const LaneImages& x, const TileGrid& grid, const TileBlock& block,
                     std::int64_t before_row, std::int64_t before_col, float* to, std::int64_t plane) {
  using locus::detail::larger, locus::detail::smaller;
  WinogradScratch& scratch = of_this_thread<WinogradScratch>();
  const WinogradKernels& transforms = winograd_kernels(kernels);
  const std::int64_t padded = rounded_up(x.channels, kernels.lanes);
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
    if constexpr (side == winograd_reach) transforms.input_tile(elements, padded, to + tile * padded, plane);
    else transforms.cotangent_tile(elements, padded, to + tile * padded, plane);
  });
}

/// Calls f(first row, rows) for panels of a product's rows, of even height, but for an odd last one.
template <class F>
void for_each_panel(std::int64_t rows, std::int64_t most, const F& f) {
  const std::int64_t pairs = rows / 2, panels = quotient_up(2 * pairs, most);
  for (std::int64_t i = 0; i < panels; ++i) {
    const std::int64_t begin = 2 * (pairs * i / panels), end = 2 * (pairs * (i + 1) / panels);
    f(begin, end - begin);
  }
  if (rows % 2 != 0) f(rows - 1, std::int64_t{1});
}

/// out (rows, 2 vectors) (+)= left right, where `product` says how they lie.
inline void multiply_strip(const KernelSet<float>& kernels, TileProduct<float> product, std::int64_t rows,
                           const float* right, float* out) {
  const float* const left = product.left;
  for_each_panel(rows, kernels.max_rows, [&](std::int64_t row, std::int64_t count) {
    product.left = left + row * product.left_row;
    kernels.tile[1][count / 2](product, right, out + row * product.out_stride, 2 * kernels.lanes);
  });
}

/// Weights of 3 x 3 taps as a pass sees them: of `in` channels that it sums over, `out` of the result.
struct WinogradWeights {
  const float* data;
  std::int64_t in, out, in_stride, out_stride;  ///< strides in elements; taps lie side by side
  bool flipped;                                 ///< the adjoint's: the last tap first
};

/// Channels of the input whose weights are transformed together.
inline constexpr std::int64_t weight_rows = 16;

/// Transforms the weights of rows [first, first + rows) for a strip of results -> planes of (rows, strip).
inline void transform_strip(const KernelSet<float>& kernels, const WinogradWeights& w, std::int64_t strip,
                            std::int64_t first, std::int64_t rows, float* to, std::int64_t plane) {
  const WinogradKernels& transforms = winograd_kernels(kernels);
  const std::int64_t width = 2 * kernels.lanes, out = strip * width;
  const std::int64_t valid = locus::detail::smaller(width, w.out - out);
  const std::int64_t room = weight_rows * 9 * width;
  float* const taps = of_this_thread<WinogradScratch>().taps.reserve<float>(room);
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

/// The results of a convolution, dense: (batch, channels, height, width).
struct WinogradResult {
  const float* bias;
  float* data;
  bool adds;
};

/// Transforms the products of a block and a strip back, into the results.
inline void finish_tiles(const KernelSet<float>& kernels, const TileGrid& grid, const TileBlock& block,
                         std::int64_t channels, std::int64_t strip, const float* products, std::int64_t plane,
                         const WinogradResult& result) {
  WinogradScratch& scratch = of_this_thread<WinogradScratch>();
  const std::int64_t width = 2 * kernels.lanes, first = strip * width, rows = grid.height_of(block);
  const std::int64_t valid = locus::detail::smaller(width, channels - first), positions = rows * grid.width;
  float* const elements = scratch.result.reserve<float>((block.images * positions + 2) * width);
  float *const unused = elements + block.images * positions * width, *const bias = unused + width;
  for (std::int64_t lane = 0; lane < width; ++lane)
    bias[lane] = result.bias && lane < valid ? result.bias[first + lane] : 0.0f;
  grid.for_each_tile(block, [&](std::int64_t tile, std::int64_t image, std::int64_t row, std::int64_t col) {
    float* to[winograd_side * winograd_side];
    for (int i = 0; i < winograd_side; ++i) {
      const std::int64_t r = row - winograd_side * block.first_row + i;
      for (int j = 0; j < winograd_side; ++j) {
        const bool inside = r < rows && col + j < grid.width;
        to[i * winograd_side + j] = inside ? elements + ((image * rows + r) * grid.width + col + j) * width : unused;
      }
    }
    winograd_kernels(kernels).output_tile(products + tile * width, plane, width, bias, to);
  });
  const std::int64_t size = grid.height * grid.width;
  for (std::int64_t image = 0; image < block.images; ++image)
    from_lanes(
        kernels, elements + image * positions * width, width, valid, positions,
        result.data + ((block.image + image) * channels + first) * size + winograd_side * block.first_row * grid.width,
        size, result.adds);
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
               const WinogradResult& result)
      : kernels_(*kernels_in_use<float>()),
        x_{x, w.in, shape.axis[1].extent, shape.axis[2].extent},
        w_(w),
        result_(result),
        before_row_(shape.axis[1].before),
        before_col_(shape.axis[2].before),
        grid_(shape.batch, shape.axis[1].outputs, shape.axis[2].outputs, tiles_for(w.in, block_bytes)),
        width_(2 * kernels_.lanes),
        strips_(quotient_up(w.out, width_)),
        padded_(rounded_up(w.in, kernels_.lanes)) {}

  void run() const {
    if (grid_.tiles() <= few_tiles && w_.in * w_.out >= many_weights) run_strips();
    else run_blocks();
  }

 private:
  static constexpr std::int64_t block_bytes = std::int64_t{1} << 20;
  /// So few tiles for so many weights: threads share the weights, and not the tiles.
  static constexpr std::int64_t few_tiles = 128, many_weights = 128 * 1024, depth_at_once = 128;

  /// Weights are transformed first, then each block is one thread's.
  void run_blocks() const {
    const std::int64_t plane = strips_ * w_.in * width_ + plane_gap, chunks = quotient_up(w_.in, weight_rows);
    float* const weights = of_this_thread<WinogradScratch>().weights.reserve<float>(winograd_points * plane);
    parallel_for(strips_ * chunks, [&](std::int64_t task) {
      const std::int64_t strip = task / chunks, row = task % chunks * weight_rows;
      transform_strip(kernels_, w_, strip, row, locus::detail::smaller(weight_rows, w_.in - row),
                      weights + (strip * w_.in + row) * width_, plane);
    });
    const std::int64_t tile_plane = grid_.most_tiles() * padded_ + plane_gap,
                       sum_plane = grid_.most_tiles() * width_ + plane_gap;
    parallel_for(grid_.blocks(), [&](std::int64_t task) {
      WinogradScratch& scratch = of_this_thread<WinogradScratch>();
      const TileBlock block = grid_.block(task);
      float* const tiles = scratch.tiles.reserve<float>(winograd_points * tile_plane);
      float* const sums = scratch.products.reserve<float>(winograd_points * sum_plane);
      transform_tiles<winograd_reach>(kernels_, x_, grid_, block, before_row_, before_col_, tiles, tile_plane);
      for (std::int64_t strip = 0; strip < strips_; ++strip) {
        for (std::int64_t point = 0; point < winograd_points; ++point)
          multiply_strip(kernels_, {w_.in, tiles + point * tile_plane, padded_, 1, width_, width_, false},
                         grid_.tiles_of(block), weights + point * plane + strip * w_.in * width_,
                         sums + point * sum_plane);
        finish_tiles(kernels_, grid_, block, w_.out, strip, sums, sum_plane, result_);
      }
    });
  }

  /// All tiles are transformed first, then each strip is one thread's, which transforms its weights into its cache.
  void run_strips() const {
    const std::int64_t all = grid_.tiles(), tile_plane = all * padded_ + plane_gap;
    float* const tiles = of_this_thread<WinogradScratch>().input.reserve<float>(winograd_points * tile_plane);
    parallel_for(grid_.blocks(), [&](std::int64_t task) {
      const TileBlock block = grid_.block(task);
      transform_tiles<winograd_reach>(kernels_, x_, grid_, block, before_row_, before_col_,
                                      tiles + grid_.tiles_before(block) * padded_, tile_plane);
    });
    const std::int64_t plane = depth_at_once * width_ + plane_gap, sum_plane = all * width_ + plane_gap;
    parallel_for(strips_, [&](std::int64_t strip) {
      WinogradScratch& scratch = of_this_thread<WinogradScratch>();
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
  WinogradResult result_;
  std::int64_t before_row_, before_col_;
  TileGrid grid_;
  std::int64_t width_, strips_, padded_;
};

/// The value of a convolution, or the gradient of its input.
[[nodiscard]] inline WinogradPass winograd_pass(const ConvShape& shape, const ConvImages<const float>& x,
                                                const float* w, const float* bias, float* y, bool adds, bool adjoint) {
  if (!adjoint) return {shape, x, {w, shape.in, shape.out, 9, shape.in * 9, false}, {bias, y, adds}};
  ConvShape turned = shape;
  for (int d = 1; d < 3; ++d) {
    ConvAxis& axis = turned.axis[d];
    axis.extent = shape.axis[d].outputs, axis.outputs = shape.axis[d].extent, axis.before = 2 - axis.before;
  }
  return {turned, x, {w, shape.out, shape.in, shape.in * 9, 9, true}, {bias, y, adds}};
}

/// dw (out, in, 3, 3) (+)= the windows of x times g. Threads share the products of each group of blocks.
class WinogradGradient {
 public:
  WinogradGradient(const ConvShape& shape, const ConvImages<const float>& g, const ConvImages<const float>& x,
                   float* dw, bool adds)
      : kernels_(*kernels_in_use<float>()),
        x_{x, shape.in, shape.axis[1].extent, shape.axis[2].extent},
        g_{g, shape.out, shape.axis[1].outputs, shape.axis[2].outputs},
        dw_(dw),
        adds_(adds),
        before_row_(shape.axis[1].before),
        before_col_(shape.axis[2].before),
        grid_(shape.batch, g_.height, g_.width, 32),
        width_(2 * kernels_.lanes),
        in_(rounded_up(shape.in, kernels_.lanes)),
        out_(rounded_up(shape.out, width_)),
        gradient_lanes_(rounded_up(shape.out, kernels_.lanes)) {}

  void run() const {
    const std::int64_t strips = out_ / width_,
                       together = locus::detail::larger(tiles_at_once / grid_.most_tiles(), std::int64_t{1});
    const std::int64_t most = together * grid_.most_tiles();
    const std::int64_t x_plane = most * in_ + plane_gap, g_plane = most * gradient_lanes_ + width_ + plane_gap;
    const std::int64_t sum_plane = x_.channels * out_ + plane_gap;
    WinogradScratch& scratch = of_this_thread<WinogradScratch>();
    float* const tiles = scratch.input.reserve<float>(winograd_points * x_plane);
    float* const cotangents = scratch.gradient.reserve<float>(winograd_points * g_plane);
    float* const sums = scratch.sums.reserve<float>(winograd_points * sum_plane);
    for (std::int64_t first = 0; first < grid_.blocks(); first += together) {
      const std::int64_t blocks = locus::detail::smaller(together, grid_.blocks() - first);
      const TileBlock last = grid_.block(first + blocks - 1);
      const std::int64_t begin = grid_.tiles_before(grid_.block(first));
      const std::int64_t count = grid_.tiles_before(last) + grid_.tiles_of(last) - begin;
      parallel_for(2 * blocks, [&](std::int64_t task) {
        const TileBlock block = grid_.block(first + task / 2);
        const std::int64_t at = grid_.tiles_before(block) - begin;
        if (task % 2 == 0)
          transform_tiles<winograd_reach>(kernels_, x_, grid_, block, before_row_, before_col_, tiles + at * in_,
                                          x_plane);
        else
          transform_tiles<winograd_side>(kernels_, g_, grid_, block, 0, 0, cotangents + at * gradient_lanes_, g_plane);
      });
      parallel_for(winograd_points * strips, [&](std::int64_t task) {
        const std::int64_t point = task / strips, strip = task % strips;
        multiply_strip(kernels_, {count, tiles + point * x_plane, 1, in_, gradient_lanes_, out_, first > 0},
                       x_.channels, cotangents + point * g_plane + strip * width_,
                       sums + point * sum_plane + strip * width_);
      });
    }
    finish(sums, sum_plane, strips);
  }

 private:
  static constexpr std::int64_t tiles_at_once = 128;

  void finish(const float* sums, std::int64_t plane, std::int64_t strips) const {
    const std::int64_t chunks = quotient_up(x_.channels, weight_rows);
    parallel_for(strips * chunks, [&](std::int64_t task) {
      const std::int64_t out = task / chunks * width_, in = task % chunks * weight_rows;
      const std::int64_t rows = locus::detail::smaller(weight_rows, x_.channels - in);
      float* const taps = of_this_thread<WinogradScratch>().taps.reserve<float>(weight_rows * 9 * width_);
      for (std::int64_t i = 0; i < rows; ++i)
        for (std::int64_t lane = 0; lane < width_; lane += kernels_.lanes)
          winograd_kernels(kernels_).gradient_tile(sums + (in + i) * out_ + out + lane, plane,
                                                   taps + i * 9 * width_ + lane, width_);
      from_lanes(kernels_, taps, width_, locus::detail::smaller(width_, g_.channels - out), rows * 9,
                 dw_ + (out * x_.channels + in) * 9, x_.channels * 9, adds_);
    });
  }

  const KernelSet<float>& kernels_;
  LaneImages x_, g_;
  float* dw_;
  bool adds_;
  std::int64_t before_row_, before_col_;
  TileGrid grid_;
  std::int64_t width_, in_, out_, gradient_lanes_;
};

}  // namespace cpu::detail
}  // namespace locus::inline LOCUS_ABI
