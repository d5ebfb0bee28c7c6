#pragma once
// Maps of inputs that are dense from row to row instead of within a row, as x.transpose() in x.transpose() + y.

#include <locus/cpu/loops/map_walk.hpp>
#include <locus/cpu/loops/transpose.hpp>
#include <locus/cpu/threads/scratch.hpp>

namespace locus { inline namespace LOCUS_ABI { namespace cpu {

struct MapScratch {
  detail::Scratch tiles;
};

/// A map by blocks of rows and columns: transposed inputs are made dense in tiles before the loop reads them. For
/// elements of 4 or 8 bytes. Other sizes are left to the walk alone, and so are launches with an index, since the
/// elements of a block are not consecutive.
class TransposedMap {
 public:
  LOCUS_OUT_OF_LINE explicit TransposedMap(const MapCall& call) : call_(call) {
    const PlanView& plan = call.plan;
    if (plan.rank < 2 || rows() < transposed_rows) return;
    unsigned found = 0;
    for (int i = 0; i < call.inputs; ++i) {
      const ByteOperand& operand = call.operands[i];
      if (operand.is_index) return;
      const std::int64_t step = plan.inner_stride(i);
      if (operand.data && (operand.size == 4 || operand.size == 8) && step != 0 && step != 1 && row_stride(i) == 1)
        found |= 1u << i;
    }
    if (found == 0) return;
    transposed_ = found;
    block_cols_ = locus::detail::smaller(plan.inner_extent(), most_cols);
    block_rows_ = block_elements / block_cols_ / transposed_rows * transposed_rows;
    across_ = (plan.inner_extent() + block_cols_ - 1) / block_cols_;
    down_ = (rows() + block_rows_ - 1) / block_rows_;
  }
  TransposedMap(const TransposedMap&) = delete;
  TransposedMap& operator=(const TransposedMap&) = delete;

  [[nodiscard]] bool applies() const { return transposed_ != 0; }
  [[nodiscard]] std::int64_t blocks() const {
    return call_.plan.elements / (rows() * call_.plan.inner_extent()) * down_ * across_;
  }

  void run(std::int64_t number) const {
    const PlanView& plan = call_.plan;
    const std::int64_t first_col = number % across_ * block_cols_, strip = number / across_;
    const std::int64_t first_row = strip % down_ * block_rows_;
    const Odometer at(plan, strip / down_ * rows() + first_row);
    const std::int64_t rows_here = locus::detail::smaller(rows() - first_row, block_rows_);
    const std::int64_t cols = locus::detail::smaller(plan.inner_extent() - first_col, block_cols_);
    // If there is no memory for tiles, the walk gathers the strided input itself.
    MapScratch* const scratch = detail::try_of_this_thread<MapScratch>();
    std::byte* tile =
        scratch ? scratch->tiles.try_reserve<std::byte>(__builtin_popcount(transposed_) * block_bytes) : nullptr;
    ByteOperand operands[max_operands];
    std::int64_t extent[2] = {rows_here, cols}, stride[max_operands][max_rank];
    bool is_one_run = true;  // a row begins where the one before it ends
    for (int i = 0; i < plan.operands; ++i) {
      ByteOperand& operand = operands[i] = call_.operands[i];
      stride[i][0] = row_stride(i);
      stride[i][1] = plan.inner_stride(i);
      if (operand.data) operand.data += (at.offset[i] + first_col * stride[i][1]) * operand.size;
      if ((transposed_ >> i & 1u) != 0 && tile) {
        make_dense(operand, stride[i], tile, rows_here, cols);
        tile += block_bytes;
      }
      is_one_run &= !operand.data || stride[i][0] == cols * stride[i][1];
    }
    MapCall block = call_;
    block.operands = operands;
    block.plan.rank = is_one_run ? 1 : 2;
    block.plan.elements = rows_here * cols;
    block.plan.extent = extent;
    block.plan.stride = stride;
    if (is_one_run) {
      extent[0] = rows_here * cols;
      for (int i = 0; i < plan.operands; ++i) stride[i][0] = stride[i][1];
    }
    map_range(block, 0, block.plan.elements);
  }

 private:
  static constexpr std::int64_t most_cols = 256, block_elements = most_cols * transposed_rows;
  static constexpr std::int64_t block_bytes = block_elements * 8;

  [[nodiscard]] std::int64_t rows() const { return call_.plan.extent[call_.plan.rank - 2]; }
  [[nodiscard]] std::int64_t row_stride(int i) const { return call_.plan.stride[i][call_.plan.rank - 2]; }

  static void make_dense(ByteOperand& operand, std::int64_t (&stride)[max_rank], std::byte* tile, std::int64_t rows,
                         std::int64_t cols) {
    for (std::int64_t row = 0; row < rows; row += transposed_rows)
      transpose_strip(operand.size, operand.data + row * operand.size, stride[1], tile + row * cols * operand.size,
                      cols, locus::detail::smaller(rows - row, transposed_rows), cols);
    operand.data = tile;
    stride[0] = cols;
    stride[1] = 1;
  }

  const MapCall& call_;
  unsigned transposed_ = 0;  ///< a bit for each transposed input
  std::int64_t block_rows_ = 0, block_cols_ = 0, across_ = 0, down_ = 0;
};

}}}  // namespace locus::LOCUS_ABI::cpu
