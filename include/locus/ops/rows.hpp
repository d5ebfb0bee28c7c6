#pragma once
// A tensor as rows along one of its axes, the way for_each_row's functors address it.

#include <locus/core/std/bounds.hpp>
#include <locus/device/cost_model.hpp>
#include <locus/ops/fold.hpp>
#include <locus/ops/operation.hpp>

namespace locus { inline namespace LOCUS_ABI { namespace detail {

/// Rows of memory: row r = outer * inner_count + inner begins at outer * outer_stride + inner * inner_stride.
template <class T>
struct Rows {
  T* data = nullptr;
  std::int64_t inner_count = 1, outer_stride = 0, inner_stride = 0;
  std::int64_t stride = 1;  ///< between neighbours within a row

  [[nodiscard]] LOCUS_FN T* row(std::int64_t r) const {
#if !LOCUS_ON_DEVICE
    // Lets compilers specialize loops over rows. On a GPU it would take registers.
    if (inner_count == 1) return data + r * outer_stride;
#endif
    // Compilers turn `inner_count == 1 ? r : ...` into a division, which takes as long as a short row.
    const std::int64_t outer = inner_count > 1 ? r / inner_count : r;
    return data + outer * outer_stride + (r - outer * inner_count) * inner_stride;
  }
  [[nodiscard]] LOCUS_FN auto input(std::int64_t r) const { return RowInput<std::remove_const_t<T>>{row(r), stride}; }
  [[nodiscard]] LOCUS_FN auto output(std::int64_t r, bool accumulate = false) const {
    return RowOutput<T>{row(r), stride, accumulate};
  }
};

/// How many rows a shape has along an axis, and how long they are. If rows are empty, their number saturates at
/// INT64_MAX: an operation with a result for each row then fails to allocate it, and others have nothing to do.
struct RowCount {
  std::int64_t rows = 1, cols = 1, outer = 1, inner = 1;
  LOCUS_OUT_OF_LINE RowCount(const Shape& shape, int axis) : cols(shape[axis]) {
    for (int d = 0; d < axis; ++d) outer = product_or_most(outer, shape[d]);
    for (int d = axis + 1; d < shape.rank(); ++d) inner = product_or_most(inner, shape[d]);
    rows = product_or_most(outer, inner);
  }
  /// The number of rows that have elements.
  [[nodiscard]] std::int64_t filled() const { return cols == 0 ? 0 : rows; }
};

/// Calls across(device), which folds and maps over whole contiguous vectors, on a device whose cost model folds across
/// memory, if many rows along an axis lie side by side. Short rows are worth it sooner. Returns whether `across` has
/// done the work; if not, for_each_row takes the rows. `across` is a generic lambda, so that its launches are not
/// compiled for other devices.
template <class T, class D, class Across>
[[nodiscard]] bool done_across_memory([[maybe_unused]] const D& device, [[maybe_unused]] const RowCount& count,
                                      [[maybe_unused]] const Across& across) {
  if constexpr (CostModel<D>::folds_across_memory) {
    constexpr std::int64_t vector = 16, long_row = 16, vectors = sizeof(T) == 2 ? 32 : 24;
    if (count.inner >= (count.cols < long_row ? vector : vectors)) {
      across(device);
      return true;
    }
  }
  return false;
}

/// x as (outer, cols, inner): a view where the strides allow it, a copy otherwise.
template <class T, class D>
[[nodiscard]] Tensor<T, D> around_axis(const Tensor<T, D>& x, int axis) {
  const RowCount count(x.shape(), axis);
  return x.reshape({count.outer, count.cols, count.inner});
}

/// The rows of a tensor from around_axis, which the caller keeps alive.
template <class T, class D>
[[nodiscard]] Rows<const T> rows_of(const Tensor<T, D>& x) {
  return {x.data(), x.size(2), x.strides()[0], x.strides()[2], x.strides()[1]};
}
/// Rows of a dense tensor that is written.
template <class T, class D>
[[nodiscard]] Rows<T> rows_of(const Tensor<T, D>& x, int axis) {
  const RowCount count(x.shape(), axis);
  return {x.data(), count.inner, product_or_most(count.cols, count.inner), 1, count.inner};
}

/// Stores 0: the gradient of a row whose adjoint is 0, whatever the row holds.
template <class Team, class T, class Fragment>
LOCUS_FN void store_nothing(Team& team, const RowOutput<T>& out, const Fragment& gradients) {
  using R = compute_t<T>;
  team.store(
      out, [](R, std::int64_t) LOCUS_INLINED { return R(0); }, gradients);
}

/// The largest number of a row. NaN is skipped; it reaches the result where all elements enter that result.
template <class T, class Team, class Fragment>
[[nodiscard]] LOCUS_FN compute_t<T> largest_number(Team& team, const fold::Max<T>& larger, const Fragment& values) {
  return team.reduce(
      fold::LargestNumber<T>{larger}, [](compute_t<T> v, std::int64_t) LOCUS_INLINED { return v; }, values);
}

/// The largest element of a row, and the sum of e^(x - largest), by one reduction.
template <class T, class Team, class Fragment>
[[nodiscard]] LOCUS_FN auto sum_exponentials_at_once(Team& team, const fold::Max<T>& larger, const Fragment& values) {
  const fold::SumExponentials<T> both{larger.start};
  return team.reduce(
      both, [=](compute_t<T> v, std::int64_t) LOCUS_INLINED { return both.lift(v); }, values);
}

/// The same, by two reductions if the row is on chip.
template <class T, class Team, class Fragment>
[[nodiscard]] LOCUS_FN fold::Exponentials<compute_t<T>> sum_exponentials(Team& team, const fold::Max<T>& larger,
                                                                         const Fragment& values) {
  using R = compute_t<T>;
  if constexpr (MayLeaveChip<Team>) {
    if (team.leaves_chip()) return sum_exponentials_at_once(team, larger, values);
  }
  const R largest = largest_number(team, larger, values);
  const R sum = team.reduce(
      fold::SumOfSlow<T>{},
      [=](R v, std::int64_t) LOCUS_INLINED { return math::detail::exp_of_negative_as<T>(v - largest); }, values);
  return {largest, sum};
}

}}}  // namespace locus::LOCUS_ABI::detail
