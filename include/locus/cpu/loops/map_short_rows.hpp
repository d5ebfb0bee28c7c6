#pragma once
// Maps of short rows with vectors that are the same for all rows, as biases in x + bias with channels side by side: the
// vectors are copied several times in a row, so that the loop runs over many rows at once.

#include <locus/cpu/loops/map_transposed.hpp>

namespace locus { inline namespace LOCUS_ABI { namespace cpu {

/// Applies if the rows of all other operands follow each other without a gap.
class ShortRows {
 public:
  LOCUS_OUT_OF_LINE explicit ShortRows(const MapCall& call) : call_(call), merged_(call.plan) {
    const PlanView& plan = call.plan;
    if (plan.rank < 2 || plan.inner_extent() > longest) return;
    cols_ = plan.inner_extent();
    const int outer = plan.rank - 2;
    const std::int64_t rows = plan.extent[outer];
    unsigned found = 0;
    for (int i = 0; i < plan.operands; ++i) {
      const std::int64_t step = plan.inner_stride(i), row_step = plan.stride[i][outer];
      const bool is_read = call.operands[i].data;
      if (is_read && i < call.inputs && step != 0 && row_step == 0) found |= 1u << i;
      else if (is_read && row_step != cols_ * step) return;
      for (int d = 0; d < outer; ++d) stride_[i][d] = plan.stride[i][d];
      stride_[i][outer] = (found >> i & 1u) != 0 ? 1 : step;  // in its tile
    }
    if (found == 0 || rows < 2) return;
    vectors_ = found;
    times_ = locus::detail::smaller(locus::detail::larger<std::int64_t>(tile_elements / cols_, 2), rows);
    for (int d = 0; d < outer; ++d) extent_[d] = plan.extent[d];
    extent_[outer] = rows * cols_;
    merged_.rank = plan.rank - 1;
    merged_.extent = extent_;
    merged_.stride = stride_;
  }
  ShortRows(const ShortRows&) = delete;
  ShortRows& operator=(const ShortRows&) = delete;

  [[nodiscard]] bool applies() const { return vectors_ != 0; }

  /// Elements [begin, end) of the plan.
  void run(std::int64_t begin, std::int64_t end) const {
    MapScratch* const scratch = detail::try_of_this_thread<MapScratch>();
    std::byte* const tiles =
        scratch ? scratch->tiles.try_reserve<std::byte>(__builtin_popcount(vectors_) * times_ * cols_ * widest())
                : nullptr;
    if (!tiles) return map_range(call_, begin, end);
    Stage stage(call_.operands, merged_.operands, merged_, LOCUS_STAGE_TILES(merged_.operands), call_.repeated);
    stream_outputs(call_, stage);
    const std::int64_t length = merged_.inner_extent();
    Odometer row(merged_, begin / length);
    repeat(row, tiles);
    std::int64_t at = begin % length;
    while (begin < end) {
      using locus::detail::smaller;
      const std::int64_t phase = at % cols_;
      const std::int64_t n =
          smaller(smaller(length - at, end - begin), smaller(stage.longest_run(), times_ * cols_ - phase));
      const void* in[max_operands];
      void* out[max_operands];
      const auto offset = [&](int i) { return row.offset[i] + at * merged_.inner_stride(i); };
      const std::byte* tile = tiles;
      for (int i = 0; i < call_.inputs; ++i) {
        if ((vectors_ >> i & 1u) == 0) {
          in[i] = stage.input(i, offset(i), n);
          continue;
        }
        in[i] = tile + phase * call_.operands[i].size;
        tile += times_ * cols_ * widest();
      }
      for (int i = call_.inputs; i < merged_.operands; ++i) out[i - call_.inputs] = stage.output(i, offset(i));
      call_.run(call_.f, n, merged_.first_index + begin, in, out);
      for (int i = call_.inputs; i < merged_.operands; ++i) stage.finish(i, offset(i), n);
      begin += n;
      at += n;
      if (at == length && begin < end) {
        at = 0;
        row.next();
        if (merged_.rank > 1) repeat(row, tiles);
      }
    }
    if (stage.streams()) finish_streams();
  }

 private:
  static constexpr std::int64_t longest = 256, tile_elements = 1024;

  /// Copies the vectors into their tiles, `times_` times.
  void repeat(const Odometer& row, std::byte* tile) const {
    for (int i = 0; i < call_.inputs; ++i) {
      if ((vectors_ >> i & 1u) == 0) continue;
      const int size = call_.operands[i].size;
      const auto bytes = static_cast<std::size_t>(cols_ * size);
      gather(tile, call_.operands[i].data + row.offset[i] * size, call_.plan.inner_stride(i), cols_, size);
      for (std::int64_t k = 1; k < times_; ++k) std::memcpy(tile + static_cast<std::size_t>(k) * bytes, tile, bytes);
      tile += times_ * cols_ * widest();
    }
  }
  [[nodiscard]] int widest() const { return widest_element(call_.operands, call_.inputs); }

  const MapCall& call_;
  PlanView merged_;
  unsigned vectors_ = 0;  ///< a bit for each
  std::int64_t cols_ = 0, times_ = 0;
  std::int64_t extent_[max_rank], stride_[max_operands][max_rank];
};

}}}  // namespace locus::LOCUS_ABI::cpu
