#pragma once
// Elements and rows picked by indices, and their gradients: loops over the indices on a device whose CostModel
// follows_indices, launches over all elements on other devices.

#include <locus/expr/operands.hpp>
#include <locus/ops/index/index_elements.hpp>
#include <locus/ops/index/index_order.hpp>

namespace locus { inline namespace LOCUS_ABI { namespace detail {

/// out = the elements of x, (outer, extent, inner), that indices name along the second extent, `picked` for every outer
/// and inner, or one list for all where inner is 1. One launch.
template <class T, class D>
void pick_by_rows(const Tensor<T, D>& out, const Tensor<T, D>& x, const Tensor<std::int64_t, D>& indices,
                  std::int64_t picked, bool shares_indices) {
  const std::int64_t inner = x.size(2), cols = inner == 1 ? picked : inner, rows_per_outer = inner == 1 ? 1 : picked;
  const auto rows = rows_of(x);
  const PickRowElements<T> pick{rows.data,      rows.outer_stride, rows.stride, inner == 1 ? 0 : rows.inner_stride,
                                indices.data(), shares_indices,    cols,        rows_per_outer,
                                x.size(1),      out.data()};
  Backend<D>::for_each_row(out.device(), x.size(0) * rows_per_outer * pick.pieces_per_row(), pick.piece(), pick);
}

/// A nominal number of columns for for_each_row, enough for a thread of its own; no row is that long.
[[nodiscard]] inline std::int64_t work_of_a_thread(std::int64_t elements) {
  return smaller(elements, std::int64_t{4096});
}

/// sums(outer, indices[j], inner) += g(outer, j, inner). Work for several threads is divided by ranges of the extent;
/// the indices are then split among the ranges first.
template <class T, class R, class D>
void scatter_rows(const Tensor<R, D>& sums, const Tensor<T, D>& g, const Tensor<std::int64_t, D>& indices,
                  const RowCount& count) {
  constexpr std::int64_t worth_splitting = 1 << 16;
  const std::int64_t picked = indices.elements(), elements = product_or_most(picked, count.inner);
  const bool splits = count.outer == 1 && elements >= worth_splitting;
  const IndexRanges ranges(count.cols, splits ? smaller(elements >> 12, count.inner) : 1);
  ScatterRange<T> scatter{g.data(), indices.data(), nullptr,     nullptr,    ranges.count,
                          picked,   count.cols,     count.inner, sums.data()};
  Tensor<std::int64_t, D> positions, begins;
  if (ranges.count > 1) {
    positions = Tensor<std::int64_t, D>({picked}, g.device());
    begins = Tensor<std::int64_t, D>({ranges.count + 1}, g.device());
    scatter.positions = positions.data(), scatter.begins = begins.data();
    Backend<D>::for_each_row(g.device(), 1, 1,
                             SplitByRange{ranges, indices.data(), picked, positions.data(), begins.data()});
  }
  Backend<D>::for_each_row(g.device(), count.outer * ranges.count, work_of_a_thread(elements / ranges.count), scatter);
}

/// dx = the elements of g added up at their indices, `picked` along the axis, in the order of the indices; on a host,
/// in parallel over the other dimensions and over ranges of the axis. Sums are rounded to T once. All three may be
/// views. One launch; one more to clear dx unless accumulated; if dx cannot hold the sums, one to clear and one to
/// round the sums instead; one for each other view.
template <class T, class D>
void scatter_add(const Tensor<T, D>& dx, bool accumulate, const Tensor<T, D>& given_g,
                 const Tensor<std::int64_t, D>& given_indices, int axis, std::int64_t picked, bool shares_indices) {
  using R = compute_t<T>;
  const Tensor<T, D> g = given_g.contiguous();
  const Tensor<std::int64_t, D> indices = given_indices.contiguous();
  const RowCount count(dx.shape(), axis);
  const auto add = [&](const Tensor<R, D>& sums) {
    if (shares_indices) return scatter_rows(sums, g, indices, count);
    const ScatterRow<T> scatter{g.data(), indices.data(), picked, count.cols, count.inner, sums.data()};
    Backend<D>::for_each_row(g.device(), count.outer * scatter.rows_per_outer(), work_of_a_thread(picked), scatter);
  };
  if constexpr (std::is_same_v<T, R>) {
    if (dx.is_contiguous()) {
      if (!accumulate) dx.fill_(T(0));
      return add(dx);
    }
  }
  const Tensor<R, D> sums(dx.shape(), dx.device());
  sums.fill_(R(0));
  add(sums);
  if (accumulate) map_into(dx, functor::Add{}, dx, sums);
  else map_into(dx, functor::Identity{}, sums);
}

/// out = the rows of x, (outer, extent, inner), at the indices along the extent. One launch.
template <class T, class D>
void pick_rows(const Tensor<T, D>& out, const Tensor<T, D>& x, const Tensor<std::int64_t, D>& indices) {
  const std::int64_t picked = indices.elements();
  if constexpr (CostModel<D>::follows_indices)
    if (x.size(2) == 1) return pick_by_rows(out, x, indices, picked, true);
  const auto rows = rows_of(x);
  Backend<D>::for_each_row(x.device(), x.size(0) * picked, x.size(2),
                           PickRow<T>{rows.data, rows.outer_stride, rows.stride, rows.inner_stride, indices.data(),
                                      picked, x.size(1), out.data()});
}
/// out = the elements of x, (outer, extent, inner), at the indices, `picked` for every outer and inner. One launch.
template <class T, class D>
void pick_elements(const Tensor<T, D>& out, const Tensor<T, D>& x, const Tensor<std::int64_t, D>& indices,
                   std::int64_t picked) {
  if constexpr (CostModel<D>::follows_indices) {
    pick_by_rows(out, x, indices, picked, false);
  } else {
    const auto plan = make_plan<3>(out.shape(), {operand_of(indices), operand_of(out), operand_of(out)});
    Backend<D>::map(x.device(), plan, GatherElement<T>{rows_of(x), x.size(1), picked},
                    Pack<const std::int64_t*, LinearIndex>(indices.data(), LinearIndex{}), Pack<T*>(out.data()));
  }
}

/// The gradient of pick_rows: rows of g, dense, added up at their indices along an axis of `out`.
template <class T, class D>
void add_picked_rows(const Tensor<T, D>& out, bool accumulate, const Tensor<T, D>& g,
                     const Tensor<std::int64_t, D>& indices, int axis) {
  constexpr std::int64_t shortest_row = 16;     // from this length on, comparing indices pays
  constexpr std::int64_t most_compared = 1024;  // more indices are put in order, as comparing all would be slow
  const RowCount count(out.shape(), axis);
  const std::int64_t picked = indices.elements();
  if constexpr (CostModel<D>::follows_indices)
    if (count.inner < shortest_row || picked > most_compared)
      return scatter_add(out, accumulate, g, indices, axis, picked, true);
  if (picked >= count.cols && picked <= most_compared) {
    return Backend<D>::for_each_row(
        g.device(), count.outer * count.cols, count.inner,
        CollectRow<T>{g.data(), indices.data(), picked, count.cols, out.data(), accumulate});
  }
  if (!accumulate) out.fill_(T(0));
  if (picked > most_compared) return add_in_order(out, g, indices, count.outer, count.cols, count.inner);
  Backend<D>::for_each_row(g.device(), count.outer * picked, count.inner,
                           CollectAtFirst<T>{g.data(), indices.data(), picked, count.cols, out.data()});
}
/// The gradient of pick_elements: elements of g, dense, added up at their indices along an axis of `part`, the view of
/// `out` that the indices cover.
template <class T, class D>
void add_picked_elements(const Tensor<T, D>& out, const Tensor<T, D>& part, bool accumulate, const Tensor<T, D>& g,
                         const Tensor<std::int64_t, D>& indices, int axis) {
  [[maybe_unused]] constexpr std::int64_t most_compared = 1 << 22;  // as for add_picked_rows
  const std::int64_t picked = indices.size(axis);
  const bool covers_all = part.shape() == out.shape();
  if (!accumulate && !covers_all) out.fill_(T(0));
  if constexpr (CostModel<D>::follows_indices) {
    scatter_add(part, accumulate || !covers_all, g, indices, axis, picked, false);
  } else if (product_or_most(part.elements(), picked) > most_compared) {
    if (!accumulate && covers_all) out.fill_(T(0));
    add_in_order(out, g, places_in(out, indices, axis), 1, out.elements(), 1);
  } else {
    const RowCount count(part.shape(), axis);
    const Strides index_strides = row_major(part.shape());
    const auto plan =
        make_plan<3>(part.shape(), {PlanOperand{nullptr, &index_strides}, operand_of(part), operand_of(part)});
    Backend<D>::map(g.device(), plan, CollectElement<T>{g.data(), indices.data(), count.cols, picked, count.inner},
                    Pack<LinearIndex, const T*>(LinearIndex{}, accumulate ? part.data() : nullptr),
                    Pack<T*>(part.data()));
  }
}

}}}  // namespace locus::LOCUS_ABI::detail
