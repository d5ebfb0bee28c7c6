#pragma once
// Moves channels that lie apart in memory side by side into lanes of vectors, and back.

#include <locus/core/std/bounds.hpp>
#include <locus/cpu/gemm/kernels.hpp>

namespace locus { inline namespace LOCUS_ABI { namespace cpu::detail {

/// to[position * to_stride + lane] = from[lane * lane_stride + position]. Lanes up to a whole vector repeat the last
/// lane: `to` has room for them.
LOCUS_OUT_OF_LINE inline void to_lanes(const KernelSet<float>& kernels, const float* from, std::int64_t lane_stride,
                                       std::int64_t lanes, std::int64_t positions, float* to, std::int64_t to_stride) {
  const int width = kernels.lanes;
  for (std::int64_t lane = 0; lane < lanes; lane += width) {
    const int valid = static_cast<int>(locus::detail::smaller<std::int64_t>(width, lanes - lane));
    const float* const source = from + lane * lane_stride;
    for (std::int64_t at = 0; at < positions; at += width) {
      const int cols = static_cast<int>(locus::detail::smaller<std::int64_t>(width, positions - at));
      float* const target = to + at * to_stride + lane;
      if (kernels.masks || cols == width) {
        kernels.transpose_block(source + at, lane_stride, valid, cols, target, to_stride);
        continue;
      }
      for (int j = 0; j < cols; ++j)
        for (int i = 0; i < width; ++i)
          target[j * to_stride + i] = source[locus::detail::smaller(i, valid - 1) * lane_stride + at + j];
    }
  }
}

/// to[lane * lane_stride + position] (+)= from[position * from_stride + lane]. `from` is readable up to whole vectors.
LOCUS_OUT_OF_LINE inline void from_lanes(const KernelSet<float>& kernels, const float* from, std::int64_t from_stride,
                                         std::int64_t lanes, std::int64_t positions, float* to,
                                         std::int64_t lane_stride, bool adds) {
  const int width = kernels.lanes;
  constexpr int most = 16;
  float block[most * most];
  for (std::int64_t at = 0; at < positions; at += width) {
    const int rows = static_cast<int>(locus::detail::smaller<std::int64_t>(width, positions - at));
    for (std::int64_t lane = 0; lane < lanes; lane += width) {
      const int valid = static_cast<int>(locus::detail::smaller<std::int64_t>(width, lanes - lane));
      const float* const source = from + at * from_stride + lane;
      float* const target = to + lane * lane_stride + at;
      if (!adds && rows == width && valid == width) {
        kernels.transpose_block(source, from_stride, width, width, target, lane_stride);
        continue;
      }
      kernels.transpose_block(source, from_stride, rows, width, block, width);
      kernels.copy_rows({block, width, target, lane_stride, valid, rows, adds});
    }
  }
}

}}}  // namespace locus::LOCUS_ABI::cpu::detail
