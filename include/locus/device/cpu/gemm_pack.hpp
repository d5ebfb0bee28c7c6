#pragma once
// Packing: the elements of a matrix in the order in which a matrix product reads them.

#include <locus/core/bounds.hpp>
#include <locus/core/dtype.hpp>
#include <locus/device/cpu/gemm_kernels.hpp>
#include <locus/device/cpu/scratch.hpp>

LOCUS_LOOPS_BEGIN
namespace locus::inline LOCUS_ABI {
namespace cpu {

namespace detail {
using locus::detail::smaller;

/// What one thread needs for a matrix product.
struct GemmScratch {
  Scratch left, right, sums, tile, converted;
};

/// to(i, j) = from(i, j), as registers see it; strides are those of the rows.
template <class T>
LOCUS_FN void convert_rows(const T* from, std::int64_t from_stride, compute_t<T>* to, std::int64_t to_stride,
                           std::int64_t rows, std::int64_t cols) {
  for (std::int64_t i = 0; i < rows; ++i) {
    LOCUS_IVDEP
    for (std::int64_t j = 0; j < cols; ++j) to[i * to_stride + j] = load_as_register(from[i * from_stride + j]);
  }
}

/// target[k * width + lane] = element (lane, k), or, in pairs, elements (lane, 2 * k) and (lane, 2 * k + 1). Lanes from
/// source.lanes up to width become zero or repeat others. May write one vector register beyond the end of the target.
template <class T>
void pack(const KernelSet<compute_t<T>>& kernels, const PackSource<T>& source, std::int64_t width,
          compute_t<T>* target) {
  using R = compute_t<T>;
  if constexpr (std::is_same_v<T, bfloat16>)
    if (kernels.pack_pairs) return kernels.pack_pairs(source, width, target);
  const std::int64_t side = kernels.lanes;
  std::int64_t first = 0;  // of the depth not yet packed
  if (source.lane_stride == 1) {
    std::int64_t lanes = source.lanes;
    if constexpr (std::is_same_v<T, R>) {
      // Whole vectors where they may be read: what they write too much, the next row overwrites.
      const std::int64_t whole = (lanes + side - 1) / side * side;
      if (whole <= source.readable_lanes) lanes = whole;
      kernels.copy_rows({source.data, source.depth_stride, target, width, source.depth, lanes, false});
    } else {
      Versions<&convert_rows<T>>::call(source.data, source.depth_stride, target, width, source.depth, lanes);
    }
    for (std::int64_t k = 0; lanes < width && k < source.depth; ++k)
      for (std::int64_t lane = lanes; lane < width; ++lane) target[k * width + lane] = R(0);
    return;
  }
  if (source.depth_stride == 1 && source.depth >= side) {
    if constexpr (std::is_same_v<T, R>) {
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
    } else {
      R* const rows = of_this_thread<GemmScratch>().converted.template reserve<R>(source.lanes * source.depth);
      Versions<&convert_rows<T>>::call(source.data, source.lane_stride, rows, source.depth, source.lanes, source.depth);
      return pack<R>(kernels, {rows, source.lanes, source.depth, source.lanes, source.depth, 1}, width, target);
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
LOCUS_LOOPS_END
