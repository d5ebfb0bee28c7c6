#pragma once
// Elements in order: sort, argsort, topk. Not part of locus/locus.hpp: nvcc takes five seconds more for it,
// and in its files `cuda::` must be written locus::cuda:: (see cuda/sorting.hpp).
//
// Ascending order is numeric, with NaN, of any sign, after infinity; false comes before true. Equal elements, such as 0
// and -0 or two NaN, keep their order, also in descending order. So the result is the same on every device, bit for
// bit. A scalar is sorted as a row of one.

// First, so that the compiler's path to what is refused is short.
#include <locus/expr/operands.hpp>

#include <locus/ops/index.hpp>
#include <locus/ops/order/sort_elements.hpp>

namespace locus { inline namespace LOCUS_ABI {

namespace operation {

/// The first elements of each row in order: all of them, or, for topk, some.
template <class D, bool all>
struct Sort {
  static constexpr const char* name = all ? "sort" : "topk";
  static constexpr bool linear = true;  ///< in the order that forward found
  detail::SortedRows wanted;
  Tensor<std::int64_t, D> indices;  ///< written by forward

  template <class T>
  auto forward(const Tensor<T, D>& given) const {
    const Tensor<T, D> values(indices.shape(), given.device());
    if (values.elements() > 0) {
      const Tensor<T, D> x = detail::around_axis(detail::at_least_a_row(given), wanted.axis);
      const Buffer<D> positions = detail::positions_in_order(x, wanted);
      const auto plan = detail::plan_in_order<4>(x.size(0), x.size(2), x.size(1), wanted.first);
      Backend<D>::map(x.device(), plan, detail::PickInOrder<T>{detail::rows_of(x), x.size(1), wanted.first},
                      Pack<const std::uint32_t*, LinearIndex>(static_cast<const std::uint32_t*>(positions.data()), {}),
                      Pack<T*, std::int64_t*>(values.data(), indices.data()));
    }
    return Forwarded{values, Tuple(indices)};
  }

  template <class T>
  [[nodiscard]] Tensor<T, D> derivative(const Tensor<T, D>& along) const {
    if (along.rank() == 0) return along;
    return Gather{wanted.axis}.forward(along, indices).output;
  }
  template <class T>
  void backward(const Tuple<Tensor<std::int64_t, D>>& saved, const Tensor<T, D>& g, Gradient<T, D>& dx) const {
    const auto target = dx.open();
    if (!all && !target.accumulate) target.out.fill_(T(0));
    if (g.empty()) return;
    const Tensor<T, D> out = detail::at_least_a_row(target.out);
    const auto index = detail::around_axis(detail::at_least_a_row(get<0>(saved)), wanted.axis).transpose(1, 2);
    const auto by_row = detail::around_axis(detail::at_least_a_row(g), wanted.axis).transpose(1, 2);
    const auto plan = make_plan<3>(index.shape(),
                                   {detail::operand_of(index), detail::operand_of(by_row), detail::operand_of(by_row)});
    Backend<D>::map(g.device(), plan,
                    detail::ScatterElement<T>{detail::rows_of(out, wanted.axis), wanted.first, target.accumulate},
                    Pack<const std::int64_t*, const T*, LinearIndex>(index.data(), by_row.data(), {}), Pack<>{});
  }
};

}  // namespace operation

/// The results of sort and topk: `auto [values, indices] = sort(x);`
template <class Values, class Indices>
struct Sorted {
  Values values;    ///< traced where x is
  Indices indices;  ///< original positions along the axis: plain, of int64
};

namespace detail {
template <class X>
concept SortOperand = RealOperand<X> && SortingDevice<device_of<X>>;

template <bool all, class X>
auto sort_rows(const X& x, const SortedRows& wanted) {
  using D = device_of<X>;
  const Tensor<std::int64_t, D> indices(wanted.result(x.shape()), x.device());
  auto values = apply(operation::Sort<D, all>{wanted, indices}, x);
  return Sorted<decltype(values), Tensor<std::int64_t, D>>{std::move(values), indices};
}
}  // namespace detail

/// The elements along one axis in ascending order, or in descending order, and their original positions: torch.sort,
/// stable.
/// shape: as x     gradient: for the values, g at their original positions
/// cost:  two launches and the device's sort: on Cpu a pass for each byte in which elements of a row differ, of rows on
///        several threads; on Cuda one for each byte of the element type, and one for each byte of the number of rows.
///        8 to 24 bytes of memory per element meanwhile. Backward one launch.
/// throws IndexError for an axis out of range; ArgumentError for rows of 2^31 elements or more
///
///     auto [values, indices] = sort(x, 0);   // equals gather(x, 0, indices)
template <detail::SortOperand X>
[[nodiscard]] auto sort(const X& x, int dim = -1, bool descending = false) {
  return detail::sort_rows<true>(x, detail::SortedRows("sort", x.shape(), dim, descending));
}

/// The positions of the elements along one axis in order: the indices of sort, at its cost.
template <detail::SortOperand X>
[[nodiscard]] auto argsort(const X& x, int dim = -1, bool descending = false) {
  using D = device_of<X>;
  const detail::SortedRows wanted("argsort", x.shape(), dim, descending);
  const auto& given = x.value();
  const Tensor<std::int64_t, D> indices(given.shape(), given.device());
  if (indices.empty()) return indices;
  const auto rows = detail::around_axis(detail::at_least_a_row(given), wanted.axis);
  const Buffer<D> positions = detail::positions_in_order(rows, wanted);
  const auto plan = detail::plan_in_order<3>(rows.size(0), rows.size(2), rows.size(1), wanted.first);
  Backend<D>::map(given.device(), plan, detail::PlaceInOrder{wanted.first},
                  Pack<const std::uint32_t*, LinearIndex>(static_cast<const std::uint32_t*>(positions.data()), {}),
                  Pack<std::int64_t*>(indices.data()));
  return indices;
}

/// The k largest elements along one axis, the largest first (or the k smallest, the smallest first), and their
/// positions: torch.topk, sorted. NaN counts as largest; among equal elements the first ones are taken, in their order.
/// shape: (..., n, ...) -> (..., k, ...)     gradient: for the values, g at their positions, 0 elsewhere
/// cost:  as sort; on Cpu one pass for k up to 32. Backward two launches.
/// throws ArgumentError unless k is 0 to n; otherwise as sort
template <detail::SortOperand X>
[[nodiscard]] auto topk(const X& x, std::int64_t k, int dim = -1, bool largest = true) {
  detail::SortedRows wanted("topk", x.shape(), dim, largest);
  if (k < 0 || k > wanted.first || (x.shape().rank() == 0 && k == 0)) {
    fail<ArgumentError>({"topk: k is ", k, " for a tensor of shape ", x.shape(), ", which has ", wanted.first,
                         " elements along axis ", wanted.axis, "; expected ", x.shape().rank() == 0 ? 1 : 0, " to ",
                         wanted.first});
  }
  wanted.first = k;
  return detail::sort_rows<false>(x, wanted);
}

#include <locus/refuse/ops/sort.inc>

}}  // namespace locus::LOCUS_ABI
