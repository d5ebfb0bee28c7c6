#pragma once
// The gradient of the weights of Winograd's convolution.

#include <locus/cpu/conv/winograd_tiles.hpp>
#include <locus/cpu/threads/parallel.hpp>

namespace locus { inline namespace LOCUS_ABI { namespace cpu::detail {

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
        width_(std::int64_t{2} * kernels_.lanes),
        in_(round_up(shape.in, kernels_.lanes)),
        out_(round_up(shape.out, width_)),
        gradient_lanes_(round_up(shape.out, kernels_.lanes)),
        together_(locus::detail::larger(tiles_at_once / grid_.most_tiles(), std::int64_t{1})) {}

  /// Whether the tiles that are transformed together take no more than the transformed weights, or little.
  [[nodiscard]] bool fits() const {
    const auto tiles = static_cast<double>(together_ * grid_.most_tiles());
    const double bytes = tiles * static_cast<double>((winograd_points + 24) * (in_ + gradient_lanes_)) * sizeof(float);
    const double weights =
        static_cast<double>(winograd_points * x_.channels) * static_cast<double>(out_) * sizeof(float);
    return bytes <= locus::detail::larger(most_scratch, weights);
  }
  void run() const {
    const std::int64_t strips = out_ / width_, most = together_ * grid_.most_tiles();
    const std::int64_t x_plane = most * in_ + plane_gap, g_plane = most * gradient_lanes_ + width_ + plane_gap;
    const std::int64_t sum_plane = x_.channels * out_ + plane_gap;
    ConvScratch& scratch = of_this_thread<ConvScratch>();
    float* const tiles = scratch.input.reserve<float>(winograd_points * x_plane);
    float* const cotangents = scratch.gradient.reserve<float>(winograd_points * g_plane);
    float* const sums = scratch.sums.reserve<float>(winograd_points * sum_plane);
    for (std::int64_t first = 0; first < grid_.blocks(); first += together_) {
      const std::int64_t blocks = locus::detail::smaller(together_, grid_.blocks() - first);
      const TileBlock last = grid_.block(first + blocks - 1);
      const std::int64_t begin = grid_.tiles_before(grid_.block(first));
      const std::int64_t count = grid_.tiles_before(last) + grid_.tiles_of(last) - begin;
      parallel_for(2 * blocks, [&](std::int64_t task) {
        const TileBlock block = grid_.block(first + task / 2);
        const std::int64_t at = grid_.tiles_before(block) - begin;
        if (task % 2 == 0)
          transform_tiles<winograd_tile>(kernels_, x_, grid_, block, before_row_, before_col_, tiles + at * in_,
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
    const std::int64_t chunks = ceil_div(x_.channels, weight_rows);
    parallel_for(strips * chunks, [&](std::int64_t task) {
      const std::int64_t out = task / chunks * width_, in = task % chunks * weight_rows;
      const std::int64_t rows = locus::detail::smaller(weight_rows, x_.channels - in);
      float* const taps = of_this_thread<ConvScratch>().taps.reserve<float>(weight_rows * 9 * width_);
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
  std::int64_t width_, in_, out_, gradient_lanes_, together_;
};

}}}  // namespace locus::LOCUS_ABI::cpu::detail
