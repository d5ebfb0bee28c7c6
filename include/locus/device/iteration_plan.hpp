#pragma once
// The iteration plan: the order in which a launch visits its operands, computed on the host before every launch.
//
// A plan merges neighbouring dimensions if every operand allows it and drops dimensions of extent 1, so that most
// launches become one contiguous run. Strides are in elements; a stride of 0 repeats an element (broadcasting).

#include <locus/core/shape.hpp>

#include <array>

namespace locus { inline namespace LOCUS_ABI {

/// Walk over N operands of one broadcast shape, outermost dimension first; rank is at least 1.
template <int N>
struct Plan {
  int rank = 1;
  std::int64_t elements = 0;
  std::int64_t first_index = 0;  ///< first value of an input that reads as its index
  std::int64_t extent[max_rank] = {};
  std::int64_t stride[N][max_rank] = {};
};

namespace detail {
/// Merges dimensions of `count` operands in place; returns the new rank (at least 1).
[[nodiscard]] constexpr int merge_dimensions(int rank, std::int64_t* extent, std::int64_t (*stride)[max_rank],
                                             int count) {
  int kept = 0;
  for (int d = 0; d < rank; ++d) {
    if (extent[d] == 1) continue;
    bool merges = kept > 0;
    for (int i = 0; i < count && merges; ++i) merges = stride[i][kept - 1] == wrapping_product(stride[i][d], extent[d]);
    const int target = merges ? kept - 1 : kept++;
    extent[target] = merges ? wrapping_product(extent[target], extent[d]) : extent[d];
    for (int i = 0; i < count; ++i) stride[i][target] = stride[i][d];
  }
  if (kept > 0) return kept;
  extent[0] = 1;
  for (int i = 0; i < count; ++i) stride[i][0] = 1;
  return 1;
}
}  // namespace detail

/// Shape and strides of an operand, for a plan.
struct PlanOperand {
  const Shape* shape = nullptr;      ///< broadcasts to the plan's shape; null: the plan's shape
  const Strides* strides = nullptr;  ///< strides for that shape; null: one element, repeated

  /// The stride for dimension `d` of a plan's shape of `rank` dimensions.
  [[nodiscard]] constexpr std::int64_t stride(int d, int rank) const {
    if (!strides) return 0;
    if (!shape) return strides->begin()[d];
    const int at = d - rank + shape->rank();
    return at < 0 || shape->begin()[at] == 1 ? 0 : strides->begin()[at];
  }
};

namespace detail {
/// Fills a plan of `count` operands with the dimensions of a shape given by the bit mask; returns their number of
/// elements. Not a template, so that it is compiled once for all arities.
LOCUS_OUT_OF_LINE constexpr std::int64_t fill_plan(const Shape& shape, unsigned dimensions, const PlanOperand* operands,
                                                   int count, int& rank, std::int64_t* extent,
                                                   std::int64_t (*stride)[max_rank]) {
  for (int d = 0; d < shape.rank(); ++d) {
    // Returns before multiplying the other extents, which may be huge. If a dimension that is left out has extent 0,
    // the walk is empty, and the product may wrap.
    if ((dimensions >> d & 1u) != 0 && shape.begin()[d] == 0) return rank = 1, extent[0] = 0;
  }
  std::int64_t product = 1;
  int kept = 0;
  for (int d = 0; d < shape.rank(); ++d) {
    if ((dimensions >> d & 1u) == 0) continue;
    product = wrapping_product(product, extent[kept] = shape.begin()[d]);
    for (int i = 0; i < count; ++i) stride[i][kept] = operands[i].stride(d, shape.rank());
    ++kept;
  }
  rank = merge_dimensions(kept, extent, stride, count);
  return product;
}
}  // namespace detail

/// Plan for operands that are all read or written as `shape`. `dimensions`: bit mask of the dimensions that the plan
/// walks.
template <int N>
[[nodiscard]] constexpr Plan<N> make_plan(const Shape& shape, const std::array<PlanOperand, N>& operands,
                                          unsigned dimensions = ~0u) {
  Plan<N> plan;
  plan.elements = detail::fill_plan(shape, dimensions, operands.data(), N, plan.rank, plan.extent, plan.stride);
  return plan;
}
/// As above, given each operand's strides for `shape`.
template <int N>
[[nodiscard]] constexpr Plan<N> make_plan(const Shape& shape, const std::array<Strides, N>& strides) {
  std::array<PlanOperand, N> operands;
  for (std::size_t i = 0; i < N; ++i) operands[i].strides = &strides[i];
  return make_plan<N>(shape, operands);
}

namespace detail {
[[nodiscard]] constexpr std::int64_t distance(std::int64_t stride) { return stride < 0 ? -stride : stride; }
/// Sorts dimensions by the strides of the last operand with a stride other than 0, unless its innermost stride is 1
/// already.
LOCUS_OUT_OF_LINE constexpr void sort_dimensions(int& rank, std::int64_t* extent, std::int64_t (*stride)[max_rank],
                                                 int count) {
  const std::int64_t* by = nullptr;
  for (int i = count - 1; i >= 0 && !by; --i)
    for (int d = 0; d < rank; ++d)
      if (stride[i][d] != 0) by = stride[i];
  if (!by || by[rank - 1] == 1) return;
  for (int end = rank - 1; end > 0; --end)
    for (int d = 0; d < end; ++d) {
      if (distance(by[d]) >= distance(by[d + 1])) continue;
      std::swap(extent[d], extent[d + 1]);
      for (int i = 0; i < count; ++i) std::swap(stride[i][d], stride[i][d + 1]);
    }
  rank = merge_dimensions(rank, extent, stride, count);
}
}  // namespace detail

/// The plan with its dimensions in the memory order of the last operand: for launches that may visit the elements in
/// any order.
template <int N>
[[nodiscard]] constexpr Plan<N> in_memory_order(Plan<N> plan) {
  if (plan.rank > 1) detail::sort_dimensions(plan.rank, plan.extent, plan.stride, N);
  return plan;
}

/// Plan of a reduction over N inputs: `kept` dimensions index the output, `reduced` dimensions are folded.
/// The output is one more operand of the kept part (operand N). Both ranks are at least 1.
template <int N>
struct ReducePlan {
  Plan<N + 1> kept;
  Plan<N> reduced;
};

/// Plan of a reduction of operands read as `shape` over the dimensions of the bit mask `folded`. The last operand is
/// the result; its strides at folded dimensions are ignored.
template <int N>
[[nodiscard]] constexpr ReducePlan<N> make_reduce_plan(const Shape& shape,
                                                       const std::array<PlanOperand, N + 1>& operands,
                                                       unsigned folded) {
  ReducePlan<N> plan;
  auto& [k, r] = plan;
  k.elements = detail::fill_plan(shape, ~folded, operands.data(), N + 1, k.rank, k.extent, k.stride);
  r.elements = detail::fill_plan(shape, folded, operands.data(), N, r.rank, r.extent, r.stride);
  return plan;
}
/// Offsets of each operand at a position of a plan's outer dimensions (all but the innermost).
template <int N>
constexpr void outer_offsets(const Plan<N>& plan, std::int64_t row, std::int64_t (&offset)[N]) {
  for (int i = 0; i < N; ++i) offset[i] = 0;
  for (int d = plan.rank - 2; d >= 0; --d) {
    const std::int64_t at = row % plan.extent[d];
    row /= plan.extent[d];
    for (int i = 0; i < N; ++i) offset[i] += at * plan.stride[i][d];
  }
}

}}  // namespace locus::LOCUS_ABI
