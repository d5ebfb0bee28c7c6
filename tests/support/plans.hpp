#pragma once
// Random shapes and layouts for the tests of the verbs, and the obvious way to walk them.

#include <locus/core/rng.hpp>
#include <locus/device/iteration_plan.hpp>

#include <algorithm>
#include <vector>

namespace locus_test {

/// Layout of one operand of a random shape.
struct Layout {
  locus::Strides strides;
  std::int64_t span = 1;   ///< elements from the first to the last
  std::int64_t first = 0;  ///< offset of the element with all indices 0 within the span
};

class RandomLayouts {
 public:
  explicit RandomLayouts(std::uint64_t seed) : engine_(seed) {}

  [[nodiscard]] std::int64_t below(std::int64_t n) { return engine_.bounded(n); }

  /// A random shape of rank 0 to `most_rank` and about `elements` elements; occasionally an extent of 1 or 0.
  [[nodiscard]] locus::Shape shape(std::int64_t elements, int most_rank = 5) {
    locus::Shape result;
    const std::int64_t rank = below(most_rank + 1);
    for (std::int64_t left = rank; left > 0; --left) {
      std::int64_t extent = 1;
      if (below(8) != 0) extent += below(left == 1 ? elements : 1 + std::min<std::int64_t>(elements - 1, 40));
      elements = std::max<std::int64_t>(1, elements / extent);
      result.insert(static_cast<int>(below(result.rank() + 1)), extent);
    }
    if (rank > 0 && below(40) == 0) result[0] = 0;
    return result;
  }

  /// A layout with dimensions in random order and gaps. With `repeats`, some strides are 0; with `backwards`, some are
  /// negative.
  [[nodiscard]] Layout layout(const locus::Shape& shape, bool repeats, bool backwards = false) {
    Layout result{locus::row_major(shape)};
    const bool dense = below(3) == 0;
    std::vector<int> order;
    for (int d = 0; d < shape.rank(); ++d) order.insert(order.begin() + (dense ? 0 : below(d + 1)), d);
    std::int64_t stride = dense || below(2) ? 1 : 1 + below(3);
    for (const int d : order) {
      const bool repeated = repeats && below(6) == 0, reversed = !repeated && backwards && below(8) == 0;
      result.strides[d] = repeated ? 0 : reversed ? -stride : stride;
      if (repeated || shape[d] == 0) continue;
      result.span += (shape[d] - 1) * stride;
      if (reversed) result.first += (shape[d] - 1) * stride;
      stride = stride * shape[d] + (dense || below(3) ? 0 : below(4));
    }
    return result;
  }

 private:
  locus::Philox engine_;
};

/// Plan of a reduction whose operands all have strides for `shape`.
template <int N>
[[nodiscard]] locus::ReducePlan<N> reduce_plan(const locus::Shape& shape, const std::array<locus::Strides, N>& inputs,
                                               const locus::Strides& output, const bool (&reduced)[locus::max_rank]) {
  std::array<locus::PlanOperand, N + 1> operands;
  for (std::size_t i = 0; i < N; ++i) operands[i].strides = &inputs[i];
  operands[N].strides = &output;
  unsigned folded = 0;
  for (int d = 0; d < locus::max_rank; ++d) folded |= reduced[d] ? 1u << d : 0u;
  return locus::make_reduce_plan<N>(shape, operands, folded);
}

/// Offset of row-major element `index` of `shape`.
[[nodiscard]] inline std::int64_t offset_of(const locus::Shape& shape, const locus::Strides& strides,
                                            std::int64_t index) {
  std::int64_t offset = 0;
  for (int d = shape.rank() - 1; d >= 0; --d) {
    offset += index % shape[d] * strides[d];
    index /= shape[d];
  }
  return offset;
}

/// Offset of element `index` of a plan in operand i.
template <int N>
[[nodiscard]] std::int64_t offset_in(const locus::Plan<N>& plan, int i, std::int64_t index) {
  std::int64_t offset = 0;
  for (int d = plan.rank - 1; d >= 0; --d) {
    offset += index % plan.extent[d] * plan.stride[i][d];
    index /= plan.extent[d];
  }
  return offset;
}

}  // namespace locus_test
