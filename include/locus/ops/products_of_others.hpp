#pragma once
// The gradient of a product, of duals: a quotient by a dual of value 0 would lose its tangent.

#include <locus/core/dual.hpp>
#include <locus/ops/reduce.hpp>
#include <locus/ops/scan.hpp>

namespace locus { inline namespace LOCUS_ABI { namespace detail {

/// For each element, the product of the others along the axes: of those before it times those after it.
template <class R, class D>
[[nodiscard]] Tensor<Dual<R>, D> products_of_others(const Tensor<Dual<R>, D>& x, const ReduceAxes& axes) {
  const FoldedAxes folded("prod", x.shape(), axes);
  Axes order, back;
  for (const bool last : {false, true})
    for (int d = 0; d < x.rank(); ++d)
      if (folded.folds(d) == last) order.push_back(d);
  for (int d = 0; d < x.rank(); ++d)
    for (int i = 0; i < x.rank(); ++i)
      if (order[i] == d) back.push_back(i);
  const Tensor<Dual<R>, D> moved = x.permute(order);
  Shape rows = folded.squeezed;
  rows.push_back(folded.count);
  const Tensor<Dual<R>, D> row = moved.reshape(rows);
  const auto product = [&](bool reverse) {
    return scan<functor::Multiply>(shifted(row, row.rank() - 1, reverse, Dual<R>(1)), row.rank() - 1, reverse);
  };
  const Tensor<Dual<R>, D> others = product(false) * product(true);
  return others.reshape(moved.shape()).permute(back);
}

}}}  // namespace locus::LOCUS_ABI::detail
