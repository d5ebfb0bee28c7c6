#pragma once
// Packing: the elements of a matrix in the order in which a matrix product reads them.

#include <locus/core/dtype.hpp>
#include <locus/core/std/bounds.hpp>
#include <locus/cpu/gemm/kernels.hpp>
#include <locus/cpu/loops/squares.hpp>
#include <locus/cpu/threads/scratch.hpp>
#include <locus/device/verbs.hpp>

LOCUS_LOOPS_BEGIN
namespace locus { inline namespace LOCUS_ABI { namespace cpu { namespace detail {
using locus::detail::smaller;

/// Working memory of a thread for a matrix product.
struct GemmScratch {
  Scratch left, right, sums, tile, converted;
};

/// to(i, j) = from(i, j), converted for registers; strides are between rows.
template <class T>
LOCUS_FN void convert_rows(const T* from, std::int64_t from_stride, compute_t<T>* to, std::int64_t to_stride,
                           std::int64_t rows, std::int64_t cols) {
  for (std::int64_t i = 0; i < rows; ++i) {
    LOCUS_IVDEP
    for (std::int64_t j = 0; j < cols; ++j) to[i * to_stride + j] = load_as_register(from[i * from_stride + j]);
  }
}

/// to(i, j) = from(i, j), converted for registers, of a matrix with any strides; to's rows are dense, `stride` apart.
template <class T>
void convert_matrix(const MatrixRef<const T>& from, compute_t<T>* to, std::int64_t stride) {
  if (from.col_stride == 1)
    return Versions<&convert_rows<T>>::call(from.data, from.row_stride, to, stride, from.rows, from.cols);
  for (std::int64_t i = 0; i < from.rows; ++i)
    for (std::int64_t j = 0; j < from.cols; ++j)
      to[i * stride + j] = load_as_register(from.data[i * from.row_stride + j * from.col_stride]);
}

/// to = from for `rows` rows from `first` on, by squares where these stay within both matrices.
template <int rows, class T>
void copy_few_rows(const MatrixRef<const T>& from, const MatrixRef<T>& to, std::int64_t first) {
  const T* in = from.data + first * from.row_stride;
  T* out = to.data + first * to.row_stride;
  constexpr int side = square_side<T>;
  // Lines of fewer elements than a square has are read and written along with the beginning of the next one.
  constexpr bool is_square = rows == side;
  constexpr std::int64_t behind = is_square ? 0 : 1;
  std::int64_t left = from.cols;
  if constexpr (rows > 1) {
    if (from.row_stride == 1 && to.col_stride == 1 && (is_square || from.col_stride == rows))
      for (; left >= side + behind; left -= side, in += side * from.col_stride, out += side)
        transpose_square<side, rows>(in, from.col_stride, out, to.row_stride);
    else if (from.col_stride == 1 && to.row_stride == 1 && (is_square || to.col_stride == rows))
      for (; left >= side + behind; left -= side, in += side, out += side * to.col_stride)
        transpose_square<rows, side>(in, from.row_stride, out, to.col_stride);
  }
  for (; left > 0; --left, in += from.col_stride, out += to.col_stride)
    for (int i = 0; i < rows; ++i) out[i * to.row_stride] = in[i * from.row_stride];
}
/// to = from for few rows, which are dense in one matrix and not in the other.
template <class T>
[[gnu::noinline]] void copy_across(const MatrixRef<const T>& from, const MatrixRef<T>& to) {
  constexpr int side = square_side<T>;
  const std::int64_t rows = from.rows;
  if constexpr (side > 2) {
    if (rows == 3) return copy_few_rows<3>(from, to, 0);
    if (rows == 2) return copy_few_rows<2>(from, to, 0);
  }
  if (rows == 1) return copy_few_rows<1>(from, to, 0);
  // The last rows may be copied twice.
  for (std::int64_t i = 0; i < rows; i += side) copy_few_rows<side>(from, to, smaller(i, rows - side));
}

/// target[k * width + lane] = element (lane, k), or pairs in the order in which the kernels read this operand. Lanes
/// from source.lanes up to width become zero or repeat others. May write one vector register beyond the end of the
/// target.
template <class T>
void pack(const KernelSet<compute_t<T>>& kernels, Operand operand, const PackSource<T>& source, std::int64_t width,
          compute_t<T>* target) {
  using R = compute_t<T>;
  if constexpr (std::is_same_v<T, bfloat16>)
    if (kernels.pack_pairs) return kernels.pack_pairs(operand, source, width, target);
  const std::int64_t side = kernels.lanes;
  std::int64_t first = 0;  // of the depth not yet packed
  if (source.lane_stride == 1) {
    std::int64_t lanes = source.lanes;
    if constexpr (std::is_same_v<T, R>) {
      // Whole vectors where they may be read: the next row overwrites the excess.
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
  const bool by_blocks = source.depth >= side || (kernels.masks && source.depth > 2);
  if (source.depth_stride == 1 && by_blocks) {
    if constexpr (std::is_same_v<T, R>) {
      const std::int64_t depth = smaller(source.depth, side);
      while (first < source.depth) {
        // Last lanes first: a block writes full vectors, whose end belongs to lanes that come after it.
        first = smaller(first, source.depth - depth);  // the last block repeats a part of the one before it
        for (std::int64_t lane = (source.lanes - 1) / side * side; lane >= 0; lane -= side) {
          const std::int64_t valid = source.lanes - lane;
          kernels.transpose_block(source.data + lane * source.lane_stride + first, source.lane_stride,
                                  static_cast<int>(valid < side ? valid : side), static_cast<int>(depth),
                                  target + first * width + lane, width);
        }
        first += depth;
      }
    } else {
      R* const rows = of_this_thread<GemmScratch>().converted.template reserve<R>(source.lanes * source.depth);
      Versions<&convert_rows<T>>::call(source.data, source.lane_stride, rows, source.depth, source.lanes, source.depth);
      return pack<R>(kernels, operand, {rows, source.lanes, source.depth, source.lanes, source.depth, 1}, width,
                     target);
    }
  }
  if constexpr (std::is_same_v<T, R>)
    copy_across<T>({source.data + first * source.depth_stride, source.depth - first, source.lanes, source.depth_stride,
                    source.lane_stride},
                   {target + first * width, source.depth - first, source.lanes, width, 1});
  for (std::int64_t k = first; k < source.depth; ++k) {
    R* const row = target + k * width;
    const T* const from = source.data + k * source.depth_stride;
    if constexpr (!std::is_same_v<T, R>)
      for (std::int64_t lane = 0; lane < source.lanes; ++lane)
        row[lane] = load_as_register(from[lane * source.lane_stride]);
    for (std::int64_t lane = source.lanes; lane < width; ++lane) row[lane] = R(0);
  }
}
}}}}  // namespace locus::LOCUS_ABI::cpu::detail
LOCUS_LOOPS_END
