#pragma once
// Moves channels that lie apart in memory side by side into lanes of vectors, and back.

#include <locus/core/std/bounds.hpp>
#include <locus/cpu/gemm/tiles.hpp>
#include <locus/cpu/isa.hpp>
#include <locus/cpu/threads/scratch.hpp>

#include <cstring>

namespace locus { inline namespace LOCUS_ABI { namespace cpu::detail {

/// Rows of planes.
struct PlaneRows {
  const float* data;
  std::int64_t plane, row, col;  ///< strides
  std::int64_t planes, rows, width;
};

/// Elements of each of a vector's planes that are moved together, by way of a copy: the hardware prefetcher does not
/// follow short rows of all planes in turn, and planes whose distance is a multiple of a page share few lines of the
/// cache.
inline constexpr std::int64_t plane_run = 1024;
[[nodiscard]] inline bool is_read_by_copy(const PlaneRows& planes) {
  constexpr std::int64_t short_row = 64, page = 4096 / sizeof(float), block = 16;
  if (planes.col != 1) return true;
  return planes.plane > block && planes.rows * planes.width > block &&
         (planes.width < short_row || planes.plane % page == 0);
}
/// Room of a thread for the copy.
struct LaneScratch {
  Scratch copied;
};
/// Distance of copied planes with so many elements: planes that are contiguous in memory stay so if they can.
[[nodiscard]] inline std::int64_t copied_distance(std::int64_t run, bool is_contiguous) {
  constexpr std::int64_t aliasing = 256, gap = 16;
  return is_contiguous && run % aliasing != 0 ? run : plane_run + gap;
}
/// to[i] = from[i]
inline void copy_run(const KernelSet<float>& kernels, const float* from, std::int64_t count, float* to) {
  constexpr std::int64_t worth = 2048;  // memcpy's string instructions take long to start
  if (count >= worth) std::memcpy(to, from, static_cast<std::size_t>(count) * sizeof(float));
  else kernels.copy_rows({from, count, to, count, 1, count, false});
}

/// to[i] = from[2 i]
LOCUS_FN void copy_every_second(const float* from, std::int64_t count, float* to) {
  typedef float Lanes __attribute__((vector_size(32), aligned(4), may_alias));
  constexpr std::int64_t lanes = 8;
  std::int64_t i = 0;
  for (; i + lanes <= count; i += lanes) {
    const Lanes low = *reinterpret_cast<const Lanes*>(from + 2 * i);
    const Lanes high = *reinterpret_cast<const Lanes*>(from + 2 * i + lanes - 1);  // no element past the last
    *reinterpret_cast<Lanes*>(to + i) = __builtin_shufflevector(low, high, 0, 2, 4, 6, 9, 11, 13, 15);
  }
  for (; i < count; ++i) to[i] = from[2 * i];
}
/// Copies planes element by element, from any strides to rows that follow each other, `distance` between planes.
LOCUS_FN void copy_elements(const PlaneRows& from, float* to, std::int64_t distance) {
  for (std::int64_t plane = 0; plane < from.planes; ++plane)
    for (std::int64_t row = 0; row < from.rows; ++row) {
      const float* const source = from.data + plane * from.plane + row * from.row;
      float* const target = to + plane * distance + row * from.width;
      if (from.col == 2) copy_every_second(source, from.width, target);
      else
        for (std::int64_t col = 0; col < from.width; ++col) target[col] = source[col * from.col];
    }
}

/// to[row * to_row + position * to_stride + plane] = the element of a plane. Lanes up to a whole vector repeat the last
/// plane: `to` has room for them.
LOCUS_OUT_OF_LINE inline void to_lanes(const KernelSet<float>& kernels, const PlaneRows& from, float* to,
                                       std::int64_t to_stride, std::int64_t to_row) {
  using locus::detail::larger, locus::detail::smaller;
  if (from.planes == 0 || from.rows == 0 || from.width == 0) return;
  const std::int64_t width = kernels.lanes, cols_at_once = smaller(from.width, plane_run);
  // Rows with few elements between them are copied with these.
  const bool is_run = from.col == 1 && (from.rows == 1 || (from.row >= from.width && 4 * from.row <= 5 * from.width));
  const bool is_copied = is_read_by_copy(from);
  const std::int64_t copied_row = is_run && from.rows > 1 ? from.row : from.width;
  const std::int64_t rows_at_once = larger(plane_run / copied_row, std::int64_t{1});
  float* const copied =
      is_copied ? of_this_thread<LaneScratch>().copied.reserve<float>(width * copied_distance(plane_run, false))
                : nullptr;
  const auto move = [&](std::int64_t plane, Range rows, Range cols) {
    const PlaneRows part{from.data + plane * from.plane + rows.begin * from.row + cols.begin * from.col,
                         from.plane,
                         from.row,
                         from.col,
                         smaller(width, from.planes - plane),
                         rows.size(),
                         cols.size()};
    PlaneRows near = part;
    if (is_copied) {
      const std::int64_t run = (part.rows - 1) * copied_row + part.width;
      const bool is_contiguous = is_run && part.plane >= run && part.plane - run < copied_row && part.plane < plane_run;
      near.plane = copied_distance(part.plane, is_contiguous), near.row = copied_row, near.col = 1, near.data = copied;
      if (!is_run) Versions<&copy_elements>::call(part, copied, near.plane);
      else if (near.plane == part.plane) copy_run(kernels, part.data, (part.planes - 1) * part.plane + run, copied);
      else
        for (std::int64_t i = 0; i < part.planes; ++i)
          copy_run(kernels, part.data + i * part.plane, run, copied + i * near.plane);
    }
    if (near.row == near.width && to_row == near.width * to_stride) near.width *= near.rows, near.rows = 1;
    for (std::int64_t row = 0; row < near.rows; ++row)
      for (std::int64_t at = 0; at < near.width; at += width) {
        const std::int64_t block = smaller(width, near.width - at);
        const float* const elements = near.data + row * near.row + at;
        float* const target = to + (rows.begin + row) * to_row + (cols.begin + at) * to_stride + plane;
        if (kernels.masks || block == width) {
          kernels.transpose_block(elements, near.plane, static_cast<int>(near.planes), static_cast<int>(block), target,
                                  to_stride);
          continue;
        }
        for (std::int64_t j = 0; j < block; ++j)
          for (std::int64_t i = 0; i < width; ++i)
            target[j * to_stride + i] = elements[smaller(i, near.planes - 1) * near.plane + j];
      }
  };
  for (std::int64_t plane = 0; plane < from.planes; plane += width)
    for (std::int64_t row = 0; row < from.rows; row += rows_at_once)
      for (std::int64_t col = 0; col < from.width; col += cols_at_once)
        move(plane, {row, smaller(row + rows_at_once, from.rows)}, {col, smaller(col + cols_at_once, from.width)});
}
/// The same of planes of one row: to[position * to_stride + lane] = from[lane * lane_stride + position].
inline void to_lanes(const KernelSet<float>& kernels, const float* from, std::int64_t lane_stride, std::int64_t lanes,
                     std::int64_t positions, float* to, std::int64_t to_stride) {
  to_lanes(kernels, {from, lane_stride, 0, 1, lanes, 1, positions}, to, to_stride, 0);
}

/// to[lane * lane_stride + position] (+)= from[position * from_stride + lane]. `from` is readable up to whole vectors.
LOCUS_OUT_OF_LINE inline void from_lanes(const KernelSet<float>& kernels, const float* from, std::int64_t from_stride,
                                         std::int64_t lanes, std::int64_t positions, float* to,
                                         std::int64_t lane_stride, bool adds) {
  using locus::detail::smaller;
  const std::int64_t width = kernels.lanes;
  const bool is_whole = lane_stride == positions && positions > width;  // planes, which are contiguous
  const std::int64_t at_once = is_whole ? plane_run : width;
  float* const copied =
      of_this_thread<LaneScratch>().copied.reserve<float>(width * (copied_distance(plane_run, false) + width));
  for (std::int64_t first = 0; first < positions; first += at_once)
    for (std::int64_t lane = 0; lane < lanes; lane += width) {
      const std::int64_t run = smaller(at_once, positions - first), valid = smaller(width, lanes - lane);
      const float* const source = from + first * from_stride + lane;
      float* const target = to + lane * lane_stride + first;
      if (!adds && !is_whole && run == width && valid == width) {
        kernels.transpose_block(source, from_stride, static_cast<int>(width), static_cast<int>(width), target,
                                lane_stride);
        continue;
      }
      const std::int64_t distance = is_whole ? copied_distance(run, lane_stride == run) : width;
      // From the last block on: of each lane, it reaches into the next one's first.
      for (std::int64_t at = (run - 1) / width * width; at >= 0; at -= width)
        kernels.transpose_block(source + at * from_stride, from_stride, static_cast<int>(smaller(width, run - at)),
                                static_cast<int>(width), copied + at, distance);
      if (!adds && run == distance && run == lane_stride) copy_run(kernels, copied, valid * run, target);
      else kernels.copy_rows({copied, distance, target, lane_stride, valid, run, adds});
    }
}

}}}  // namespace locus::LOCUS_ABI::cpu::detail
