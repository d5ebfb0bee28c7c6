#pragma once
// Transposition: reads matrices with dense columns by rows, in square blocks, so that the lines read and the lines
// written both stay in cache.

#include <locus/core/std/bounds.hpp>
#include <locus/cpu/loops/squares.hpp>
#include <locus/cpu/loops/stage.hpp>

namespace locus { inline namespace LOCUS_ABI { namespace cpu {

/// Rows that are read together: a line of cache, in words of 4 bytes.
inline constexpr std::int64_t transposed_rows = 16;

namespace detail {
/// out(row, col) = in(row, col), of at most transposed_rows rows. In `in`, elements of a column lie side by side,
/// columns in_step apart; in `out`, elements of a row lie side by side, rows out_step apart.
template <class Word>
void transpose_strip(const std::byte* from, std::int64_t in_step, std::byte* to, std::int64_t out_step,
                     std::int64_t rows, std::int64_t cols) {
  typedef Word AnyWord __attribute__((may_alias));  // elements of any type are moved as words
  constexpr std::int64_t block = transposed_rows;
  const auto* const in = reinterpret_cast<const AnyWord*>(from);
  auto* const out = reinterpret_cast<AnyWord*>(to);
  for (std::int64_t first = 0; first < cols; first += block) {
    const std::int64_t left = locus::detail::smaller(cols - first, block);
    // Lines are read once: lines far apart may displace each other from the cache.
    Word lines[block][block];
    for (std::int64_t col = 0; col < left; ++col) {
      const AnyWord* const line = in + (first + col) * in_step;
      if (first + col + block < cols)
        __builtin_prefetch(line + block * in_step);  // too far apart for the hardware prefetcher
      if (rows == block) __builtin_memcpy(lines[col], line, sizeof lines[col]);
      else
        for (std::int64_t row = 0; row < rows; ++row) lines[col][row] = line[row];
    }
    if (rows == block && left == block) {
      constexpr int side = square_side<Word>;
      for (int row = 0; row < block; row += side)
        for (int col = 0; col < block; col += side)
          transpose_square<side, side, Word>(&lines[col][row], block, out + row * out_step + first + col, out_step);
    } else {
      for (std::int64_t row = 0; row < rows; ++row)
        for (std::int64_t col = 0; col < left; ++col) out[row * out_step + first + col] = lines[col][row];
    }
  }
}
}  // namespace detail

/// The same for elements of `size` bytes: 4 or 8.
inline void transpose_strip(int size, const std::byte* in, std::int64_t in_step, std::byte* out, std::int64_t out_step,
                            std::int64_t rows, std::int64_t cols) {
  if (size == 4) detail::transpose_strip<std::uint32_t>(in, in_step, out, out_step, rows, cols);
  else detail::transpose_strip<std::uint64_t>(in, in_step, out, out_step, rows, cols);
}

/// A copy whose output is dense along the innermost dimension, its input along another.
class TransposingCopy {
 public:
  /// Operands are the input and the output.
  LOCUS_OUT_OF_LINE TransposingCopy(const PlanView& plan, const ByteOperand* operands)
      : plan_(plan), operands_(operands) {
    const int inner = plan.rank - 1, outer = plan.rank - 2, size = operands[0].size;
    if (outer < 0 || (size != 4 && size != 8) || !operands[0].data || !operands[1].data || plan.stride[0][inner] == 1 ||
        plan.stride[0][inner] == 0 || plan.stride[1][inner] != 1)
      return;
    int along = outer;
    while (along >= 0 && plan.stride[0][along] != 1) --along;
    applies_ = along >= 0 && plan.extent[along] >= transposed_rows && plan.extent[inner] > 1;
    if (applies_) turn(along);
  }
  TransposingCopy(const TransposingCopy&) = delete;
  TransposingCopy& operator=(const TransposingCopy&) = delete;

  [[nodiscard]] bool applies() const { return applies_; }

  /// Strips of transposed_rows rows of the output.
  [[nodiscard]] std::int64_t strips() const {
    return plan_.elements / (plan_.inner_extent() * rows()) * strips_of_matrix();
  }
  void copy(std::int64_t strip) const {
    const std::int64_t first = strip % strips_of_matrix() * transposed_rows;
    const Odometer at(plan_, strip / strips_of_matrix() * rows() + first);
    const int size = operands_[0].size;
    transpose_strip(size, operands_[0].data + at.offset[0] * size, plan_.inner_stride(0),
                    operands_[1].data + at.offset[1] * size, plan_.stride[1][plan_.rank - 2],
                    locus::detail::smaller(rows() - first, transposed_rows), plan_.inner_extent());
  }

 private:
  [[nodiscard]] std::int64_t rows() const { return plan_.extent[plan_.rank - 2]; }
  [[nodiscard]] std::int64_t strips_of_matrix() const { return (rows() + transposed_rows - 1) / transposed_rows; }

  /// Makes `along` the dimension next to the innermost.
  void turn(int along) {
    for (int d = 0; d < plan_.rank; ++d) {
      const int from = d < along || d == plan_.rank - 1 ? d : d == plan_.rank - 2 ? along : d + 1;
      extent_[d] = plan_.extent[from];
      for (int i = 0; i < 2; ++i) stride_[i][d] = plan_.stride[i][from];
    }
    plan_.extent = extent_;
    plan_.stride = stride_;
  }

  PlanView plan_;
  const ByteOperand* operands_;
  bool applies_ = false;
  std::int64_t extent_[max_rank];
  std::int64_t stride_[2][max_rank];
};

}}}  // namespace locus::LOCUS_ABI::cpu
