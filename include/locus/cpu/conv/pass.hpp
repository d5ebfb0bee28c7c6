#pragma once
// Shared by the passes of convolutions: memory, results, and products of strips of channels.

#include <locus/cpu/conv/channel_lanes.hpp>
#include <locus/cpu/gemm/tiles.hpp>
#include <locus/cpu/threads/scratch.hpp>
#include <locus/device/convolution.hpp>

namespace locus { inline namespace LOCUS_ABI { namespace cpu::detail {

/// Working memory of a pass, which each thread keeps for the next pass.
struct ConvScratch {
  Scratch weights, input, gradient, sums;         // shared by the threads of a pass
  Scratch images, tiles, products, result, taps;  // of one thread
};

/// Most bytes that a thread uses at once, or that the threads of a pass share; weights do not count. A pass that takes
/// more is computed another way.
inline constexpr double most_scratch = std::int64_t{32} << 20;

/// Gap between planes: at distances of powers of two they would share lines of the cache.
inline constexpr std::int64_t plane_gap = 16;

/// The results of a convolution: dense images, row-major or channels-last.
struct ConvResult {
  const float* bias;
  ConvImages<float> images;
  bool adds;

  /// Stores or adds elements (position, lane), of consecutive positions from `to` on, in `channels` channels.
  void store(const KernelSet<float>& kernels, const float* from, std::int64_t from_stride, std::int64_t channels,
             std::int64_t positions, float* to) const {
    if (images.is_channels_last())
      kernels.copy_rows({from, from_stride, to, images.stride[4], positions, channels, adds});
    else from_lanes(kernels, from, from_stride, channels, positions, to, images.stride[1], adds);
  }
};

/// Calls f(first row, rows) for panels of a product's rows, of even height, and for an odd last row by itself.
template <class F>
void for_each_panel(std::int64_t rows, std::int64_t most, const F& f) {
  const std::int64_t pairs = rows / 2, panels = ceil_div(2 * pairs, most);
  for (std::int64_t i = 0; i < panels; ++i) {
    const std::int64_t begin = 2 * (pairs * i / panels), end = 2 * (pairs * (i + 1) / panels);
    f(begin, end - begin);
  }
  if (rows % 2 != 0) f(rows - 1, std::int64_t{1});
}

/// out (rows, 2 vectors) (+)= left right; `product` has the strides.
inline void multiply_strip(const KernelSet<float>& kernels, TileProduct<float> product, std::int64_t rows,
                           const float* right, float* out) {
  const float* const left = product.left;
  for_each_panel(rows, kernels.max_rows, [&](std::int64_t row, std::int64_t count) {
    product.left = left + row * product.left_row;
    kernels.tile[1][count / 2](product, right, out + row * product.out_stride, std::int64_t{2} * kernels.lanes);
  });
}

}}}  // namespace locus::LOCUS_ABI::cpu::detail
