#pragma once
// Packing: the elements of a matrix in the order in which a matrix product reads them.

#include <locus/core/bounds.hpp>
#include <locus/core/dtype.hpp>
#include <locus/device/cpu/gemm_kernels.hpp>
#include <locus/device/cpu/scratch.hpp>

namespace locus::inline LOCUS_ABI {
namespace cpu {

namespace detail {
using locus::detail::smaller;

/// What one thread needs for a matrix product.
struct GemmScratch {
  Scratch left, right, sums, tile;
};

/// Vectors to lay side by side: element (lane, k) is data[lane * lane_stride + k * depth_stride].
template <class T>
struct PackSource {
  const T* data;
  std::int64_t lanes, lane_stride;
  std::int64_t readable_lanes;  ///< at least `lanes`; those beyond belong to others
  std::int64_t depth, depth_stride;
};

/// target[k * width + lane] = element (lane, k). Lanes from source.lanes up to width become zero or repeat others.
/// May write one vector register beyond the end of the target.
template <class T>
void pack(const KernelSet<compute_t<T>>& kernels, const PackSource<T>& source, std::int64_t width,
          compute_t<T>* target) {
  using R = compute_t<T>;
  std::int64_t first = 0;  // of the depth not yet packed
  if constexpr (std::is_same_v<T, R>) {
    if (source.lane_stride == 1) {
      // Whole vectors where they may be read: what they write too much, the next row overwrites.
      const std::int64_t whole = (source.lanes + kernels.lanes - 1) / kernels.lanes * kernels.lanes;
      const std::int64_t lanes = whole <= source.readable_lanes ? whole : source.lanes;
      kernels.copy_rows({source.data, source.depth_stride, target, width, source.depth, lanes, false});
      for (std::int64_t k = 0; lanes < width && k < source.depth; ++k)
        for (std::int64_t lane = lanes; lane < width; ++lane) target[k * width + lane] = R(0);
      return;
    }
    if (const std::int64_t side = kernels.lanes; source.depth_stride == 1 && source.depth >= side)
      while (first < source.depth) {
        // Last lanes first: a block writes full vectors, whose end belongs to lanes that come after it.
        first = smaller(first, source.depth - side);  // the last block repeats a part of the one before it
        for (std::int64_t lane = (source.lanes - 1) / side * side; lane >= 0; lane -= side) {
          const std::int64_t valid = source.lanes - lane;
          kernels.transpose_block(source.data + lane * source.lane_stride + first, source.lane_stride,
                                  static_cast<int>(valid < side ? valid : side), target + first * width + lane, width);
        }
        first += side;
      }
  }
  for (std::int64_t k = first; k < source.depth; ++k) {
    R* const row = target + k * width;
    const T* const from = source.data + k * source.depth_stride;
    for (std::int64_t lane = 0; lane < source.lanes; ++lane)
      row[lane] = load_as_register(from[lane * source.lane_stride]);
    for (std::int64_t lane = source.lanes; lane < width; ++lane) row[lane] = R(0);
  }
}
}  // namespace detail

}  // namespace cpu
}  // namespace locus::inline LOCUS_ABI
